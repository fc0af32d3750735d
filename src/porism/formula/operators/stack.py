"""The stack of open operators of one row."""

from __future__ import annotations

from collections.abc import Callable

from porism.formula.operators.nary import IMPLICIT, InfixOperator, nary_node
from porism.formula.operators.table import FUN, INFIX, MUL, PREC_ARGUMENT, PREC_IMPLICIT, PREC_WORD
from porism.formula.tree import Node


class OpenOperator:
    """An operator whose operands are not complete. A prefix has `close`, which makes its node; others have a `run` of
    operators of one precedence."""

    __slots__ = ("close", "form", "prec", "run", "start")

    def __init__(
        self, prec: int, form: int, start: int, run: list[InfixOperator] | None, close: Callable[[Node], Node] | None
    ) -> None:
        self.prec = prec
        self.form = form
        self.start = start
        self.run = run
        self.close = close


class Stack:
    """Operands and open operators. `has_operand` says whether the last token was an operand."""

    __slots__ = ("after_text", "has_operand", "logic", "operands", "operators")

    def __init__(self) -> None:
        self.operands: list[Node] = []
        self.operators: list[OpenOperator] = []
        self.has_operand = False
        self.after_text = False
        self.logic = 0

    def value(self, node: Node, simple: bool = False) -> None:
        """Push an operand. After an operand it multiplies; in a function's argument simple ones only."""
        if self.has_operand:
            self.juxtapose(simple)
        self.operands.append(node)
        self.has_operand = True

    def juxtapose(self, simple: bool) -> None:
        """Join two adjacent operands: a product, or a sequence after words."""
        if self.after_text:
            self.after_text = False
            self.between(INFIX, PREC_WORD, InfixOperator("O!text"))
        elif simple and self.operators and (self.operators[-1].form == FUN or self.operators[-1].prec == PREC_ARGUMENT):
            self.between(MUL, PREC_ARGUMENT, IMPLICIT)
        else:
            self.between(MUL, PREC_IMPLICIT, IMPLICIT)

    def between(self, form: int, prec: int, operator: InfixOperator) -> None:
        """Push an operator: close what binds tighter, join a run of the same kind, or open a new one."""
        operands, operators = self.operands, self.operators
        if not self.has_operand:
            operands.append(Node("W!"))
        while operators and operators[-1].prec > prec:
            self.reduce()
        if operators:
            top = operators[-1]
            if top.prec == prec:
                run = top.run
                if run is not None and top.form == form and (form != INFIX or run[0].label == operator.label):
                    run.append(operator)
                    self.has_operand = False
                    return
                self.reduce()
        operators.append(OpenOperator(prec, form, len(operands) - 1, [operator], None))
        self.has_operand = False

    def prefix(self, form: int, prec: int, close: Callable[[Node], Node]) -> None:
        """Push an operator before its operand."""
        if self.has_operand:
            self.juxtapose(False)
        self.operators.append(OpenOperator(prec, form, len(self.operands), None, close))
        self.has_operand = False

    def reduce(self) -> None:
        """Close the innermost operator."""
        top = self.operators.pop()
        operands = self.operands
        if top.run is None:
            assert top.close is not None
            operands[-1] = top.close(operands[-1])
        else:
            own = operands[top.start :]
            del operands[top.start :]
            operands.append(nary_node(top.form, top.run, own))

    def finish(self) -> Node:
        """Close everything. An operator at the end of the row gets an empty operand."""
        if not self.has_operand:
            self.operands.append(Node("W!"))
        while self.operators:
            self.reduce()
        return self.operands[-1]
