"""The stack of open operators of one row."""

from __future__ import annotations

from collections.abc import Callable

from porism.formula.operators.chains import IMPLICIT, Mark, build
from porism.formula.operators.table import FUN, INFIX, MUL, PREC_ARGUMENT, PREC_IMPLICIT, PREC_WORD
from porism.formula.tree import Node


class Open:
    """An operator whose operands are not complete. A prefix has `close`, which makes its node; others have marks."""

    __slots__ = ("close", "form", "marks", "prec", "start")

    def __init__(
        self, prec: int, form: int, start: int, marks: list[Mark] | None, close: Callable[[Node], Node] | None
    ) -> None:
        self.prec = prec
        self.form = form
        self.start = start
        self.marks = marks
        self.close = close


class Stack:
    """Operands and open operators; `have` says whether the last thing read was an operand."""

    __slots__ = ("after_text", "have", "logic", "ops", "values")

    def __init__(self) -> None:
        self.values: list[Node] = []
        self.ops: list[Open] = []
        self.have = False
        self.after_text = False
        self.logic = 0

    def value(self, node: Node, simple: bool = False) -> None:
        """An operand. After another operand it multiplies; inside a function's argument only simple ones do (`sin 2πx`)."""
        if self.have:
            self.juxtapose(simple)
        self.values.append(node)
        self.have = True

    def juxtapose(self, simple: bool) -> None:
        """Two operands side by side: a product, or a sequence after words."""
        if self.after_text:
            self.after_text = False
            self.between(INFIX, PREC_WORD, Mark("O!text"))
        elif simple and self.ops and (self.ops[-1].form == FUN or self.ops[-1].prec == PREC_ARGUMENT):
            self.between(MUL, PREC_ARGUMENT, IMPLICIT)
        else:
            self.between(MUL, PREC_IMPLICIT, IMPLICIT)

    def between(self, form: int, prec: int, mark: Mark) -> None:
        """An operator between operands: closes what binds tighter, joins a run of its own kind, or opens a new one."""
        values, ops = self.values, self.ops
        if not self.have:
            values.append(Node("W!"))
        while ops and ops[-1].prec > prec:
            self.reduce()
        if ops:
            top = ops[-1]
            if top.prec == prec:
                marks = top.marks
                if marks is not None and top.form == form and (form != INFIX or marks[0].label == mark.label):
                    marks.append(mark)
                    self.have = False
                    return
                self.reduce()
        ops.append(Open(prec, form, len(values) - 1, [mark], None))
        self.have = False

    def prefix(self, form: int, prec: int, close: Callable[[Node], Node]) -> None:
        """An operator before its operand."""
        if self.have:
            self.juxtapose(False)
        self.ops.append(Open(prec, form, len(self.values), None, close))
        self.have = False

    def reduce(self) -> None:
        """Close the innermost operator."""
        top = self.ops.pop()
        values = self.values
        if top.marks is None:
            assert top.close is not None
            values[-1] = top.close(values[-1])
        else:
            start = top.start
            operands = values[start:]
            del values[start:]
            values.append(build(top.form, top.marks, operands))

    def finish(self) -> Node:
        """Close everything; an operator at the end of the row has a blank operand."""
        if not self.have:
            self.values.append(Node("W!"))
        while self.ops:
            self.reduce()
        return self.values[-1]
