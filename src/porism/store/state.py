"""What a server keeps besides the store, beside a folder or in a state folder: log, tokens, caches, exported models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from porism.errors import PorismError
from porism.files import disk_error
from porism.store import is_folder

SYSTEMS = "systems"


@dataclass(frozen=True, slots=True)
class State:
    """The places of what is kept for a store: INDEX.log and so on beside a folder, or DIR/log in a state folder."""

    address: str | Path
    folder: Path | None = None

    @classmethod
    def of(cls, address: str | Path, folder: str | Path | None = None) -> State:
        """Return the state of a store; its own folder, if there is one, is made for the owner alone."""
        if not folder:
            return cls(address)
        try:
            Path(folder).mkdir(0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise disk_error(error, Path(folder)) from error
        return cls(address, Path(folder))

    @property
    def log(self) -> Path:
        """The change log."""
        return self._file("log")

    @property
    def rejected(self) -> Path:
        """The changes that could not be applied, as JSON Lines."""
        return self._file("log.rejected")

    @property
    def attempts(self) -> Path:
        """The note which changes are being applied."""
        return self._file("log.applying")

    @property
    def merge_request(self) -> Path:
        """The file that requests a merge of all segments, until the merge is done."""
        return self._file("merge")

    @property
    def tokens(self) -> Path:
        """The tokens of programs that may change the store."""
        return self._file("tokens")

    @property
    def models(self) -> Path:
        """The folder of exported models."""
        return self.folder or self._file("models").parent

    @property
    def systems(self) -> Path | None:
        """The folder of what named systems prepare; None if there is no place for it."""
        if self.folder is None and not is_folder(self.address):
            return None
        return (self.folder or Path(self.address)) / SYSTEMS

    def _file(self, name: str) -> Path:
        if self.folder is not None:
            return self.folder / name
        if not is_folder(self.address):
            raise no_place(self.address)
        place = Path(self.address)
        return place.with_name(f"{place.name}.{name}")


def no_place(address: str | Path = "") -> PorismError:
    """Return the error of a store that is no folder, where files are to be kept beside it."""
    return PorismError(
        "not a folder, so that nothing can be kept beside it",
        where=str(address) or "the store",
        fix="name a folder for change log, tokens, caches and models: --state DIR",
    )
