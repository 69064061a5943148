"""Words of what a plan may say about rows: names, numbers, levels and signs. Nothing is evaluated.

Plans come from other people. So their texts are read word by word into frozen records, or refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

LONGEST = 1000  # characters
OPERATORS = ("==", "!=", "<=", ">=", "<", ">")
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>[^\W\d][\w.]*)
      | `(?P<quoted>[^`]+)`
      | '(?P<single>[^']*)' | "(?P<double>[^"]*)"
      | (?P<sign>\*\*|==|!=|<=|>=|[~+\-*:^(),<>&|!])
    )""",
    re.VERBOSE,
)


class FormulaError(ValueError):
    """A formula that cannot be read; the message says where and what was expected."""


@dataclass(frozen=True)
class Comparison:
    """A comparison of a column with a level or a number, such as ``sex == 'f'``."""

    column: str
    operator: str
    literal: str
    quoted: bool

    def __str__(self) -> str:
        return f"{self.column} {self.operator} {self.literal}"


@dataclass
class Words:
    """The words of a text, from left to right."""

    words: list[tuple[str, str, int]]
    place: int = 0
    depth: int = field(default=0)

    @classmethod
    def of(cls, text: str) -> Words:
        """The words of a text."""
        if not isinstance(text, str) or not text.strip():
            raise FormulaError("it is empty")
        if len(text) > LONGEST:
            raise FormulaError(f"it is longer than {LONGEST} characters")
        return cls(list(_split(text)))

    @property
    def kind(self) -> str:
        """What the next word is: number, name, quoted, string or sign; empty at the end."""
        return self.words[self.place][0] if self.place < len(self.words) else ""

    @property
    def text(self) -> str:
        """The next word."""
        return self.words[self.place][1] if self.place < len(self.words) else ""

    def take(self, *signs: str) -> bool:
        """Pass a sign if it is next."""
        found = self.kind == "sign" and self.text in signs
        self.place += found
        return found

    def need(self, sign: str) -> None:
        """Pass a sign that must be next."""
        if not self.take(sign):
            self.wrong(f"{sign}")

    def name(self) -> str:
        """Pass a column's name."""
        if self.kind not in ("name", "quoted"):
            self.wrong("a column's name")
        self.place += 1
        return self.words[self.place - 1][1]

    def whole(self, least: int, most: int) -> int:
        """Pass a whole number."""
        if self.kind != "number" or not self.text.isdigit() or not least <= int(self.text) <= most:
            self.wrong(f"a whole number from {least} to {most}")
        self.place += 1
        return int(self.words[self.place - 1][1])

    def end(self, expected: str = "the end, or one of + - * : ^") -> None:
        """Nothing may be left."""
        if self.place < len(self.words):
            self.wrong(expected)

    def wrong(self, expected: str) -> None:
        """Raise, naming the place."""
        if self.place >= len(self.words):
            raise FormulaError(f"it ends where {expected} is expected")
        _, text, at = self.words[self.place]
        raise FormulaError(f"at character {at + 1} ({text!r}): {expected} is expected there")


def _split(text: str) -> Iterator[tuple[str, str, int]]:
    text, place = text.rstrip(), 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            at = place + len(text[place:]) - len(text[place:].lstrip())
            raise FormulaError(f"at character {at + 1}: {text[at]!r} has no meaning in a formula")
        kind = str(found.lastgroup)
        yield (
            {"single": "string", "double": "string"}.get(kind, kind),
            found[kind],
            found.start(kind),
        )
        place = found.end()


def comparison(words: Words, column: str) -> Comparison:
    """Pass an operator and a literal: a level in quotes or a number."""
    operator = words.text
    if words.kind != "sign" or not words.take(*OPERATORS):
        words.wrong(f"one of {' '.join(OPERATORS)}")
    sign = "-" if words.take("-") else ""
    if words.kind not in ("string", "number") or (sign and words.kind != "number"):
        words.wrong("a level in quotes or a number")
    words.place += 1
    kind, text, _ = words.words[words.place - 1]
    return Comparison(column, operator, sign + text, kind == "string")
