"""Numbers in addresses: `{id:number}` in a route matches at most 18 digits, which every database can hold.

Starlette's own `int` matches any number of digits, and fails with a server error where Python refuses to convert them.
"""

from __future__ import annotations

from starlette.convertors import Convertor, register_url_convertor


class NumberConvertor(Convertor[int]):
    """A number without sign of 1 to 18 digits; a longer one names nothing, so the address is not found."""

    regex = "[0-9]{1,18}"

    def convert(self, value: str) -> int:
        """Return the number."""
        return int(value)

    def to_string(self, value: int) -> str:
        """Return the digits."""
        return str(value)


def register() -> None:
    """Make `{name:number}` known to routes."""
    register_url_convertor("number", NumberConvertor())
