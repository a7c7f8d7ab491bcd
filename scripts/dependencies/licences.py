"""Checks whether a licence expression can be satisfied from a list of allowed licences.

The grammar is that of SPDX (annex D): `AND` binds tighter than `OR`, `WITH` names an exception, and
parentheses group. In old manifests, the slash in `MIT/Apache-2.0` means `OR`.
"""

import re


class ExpressionError(ValueError):
    """The text is not a licence expression."""


def satisfiable(expression: str, allowed: set[str]) -> bool:
    """True when some choice among the `OR`s of `expression` uses only licences in `allowed`."""
    tokens = re.findall(r"[()]|[A-Za-z0-9.+:-]+", expression.replace("/", " OR "))
    if "".join(tokens) != re.sub(r"\s+", "", expression.replace("/", " OR ")):
        raise ExpressionError(f"unexpected character in {expression!r}")
    parser = _Parser(tokens, allowed)
    answer = parser.either()
    if parser.peek() is not None:
        raise ExpressionError(f"unexpected {parser.peek()!r} in {expression!r}")
    return answer


class _Parser:
    def __init__(self, tokens: list[str], allowed: set[str]):
        self.tokens = tokens
        self.allowed = allowed
        self.position = 0

    def peek(self) -> str | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def take(self) -> str:
        token = self.peek()
        if token is None:
            raise ExpressionError("the expression ends too early")
        self.position += 1
        return token

    def either(self) -> bool:
        answer = self.all()
        while self.peek() == "OR":
            self.take()
            # Parse before combining: `or` short-circuits and would leave the tokens of the right side unread.
            right = self.all()
            answer = answer or right
        return answer

    def all(self) -> bool:
        answer = self.one()
        while self.peek() == "AND":
            self.take()
            right = self.one()
            answer = answer and right
        return answer

    def one(self) -> bool:
        token = self.take()
        if token == "(":
            answer = self.either()
            if self.take() != ")":
                raise ExpressionError("a parenthesis is not closed")
            return answer
        if token in (")", "AND", "OR", "WITH"):
            raise ExpressionError(f"unexpected {token!r}")
        if self.peek() == "WITH":
            self.take()
            token = f"{token} WITH {self.take()}"
        return token in self.allowed
