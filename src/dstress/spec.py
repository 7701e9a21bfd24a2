"""Component specs: `typos(rate=0.1)` as text, as data, and back.

    composition  =  spec { "+" spec }
    spec         =  name [ "(" [ argument { "," argument } ] ")" ]
    argument     =  [ name "=" ] value                    arguments without a name come first, as in `ss(jga)`
    name         =  a letter, then letters, digits and - _ . / :      (`my_package.module:MyTracker` is a name too)
    value        =  number | true | false | none | "text" | bare-word | "[" value, ... "]" | spec with brackets

A bare word is text, so `llm(model=small-7b, mode=json)` needs no quotes. Values keep their types and print back so
that reading the print gives the same spec again.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn, TypeAlias

import msgspec

from dstress.errors import SpecError

if TYPE_CHECKING:
    Value: TypeAlias = bool | int | float | str | list["Value"] | "ComponentSpec" | None
    """What an argument may be."""

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?=[\s,)\]+]|$))
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<word>[^\s"'()\[\],=+]+)
      | (?P<mark>[()\[\],=+])
    )""",
    re.VERBOSE,
)
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "none": None}
_NAME = re.compile(r"[A-Za-z_][\w./:-]*")
# A dot and a digit would read back as a number.
_BARE = re.compile(r"(?!\.\d)[A-Za-z_/.~][\w./:~@%-]*")
_MAX_DEPTH = 50


class ComponentSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A component's name and creation arguments: all that is needed to make it again."""

    name: str
    positional: tuple[Value, ...] = ()
    arguments: dict[str, Value] = {}

    def __post_init__(self) -> None:
        """Refuse at once what could not be printed and read back."""
        if not _NAME.fullmatch(self.name):
            raise SpecError(f"{self.name!r} cannot be a component's name", fix="start with a letter; no blanks")
        for key in self.arguments:
            if not key.isidentifier():
                raise SpecError(f"{self.name}: {key!r} cannot be an argument's name")
        for value in (*self.positional, *self.arguments.values()):
            _refuse_endless(self.name, value)

    def __str__(self) -> str:
        shown = [print_value(value) for value in self.positional]
        shown += [f"{key}={print_value(value)}" for key, value in self.arguments.items()]
        return f"{self.name}({', '.join(shown)})" if shown else self.name


if not TYPE_CHECKING:
    # msgspec reads no type that holds itself, so at run time a list is typed one level deep.
    _Item = bool | int | float | str | ComponentSpec | None
    Value = _Item | list[_Item | list]


def parse(text: str) -> ComponentSpec:
    """Read one component. `a+b` is an error here; see `parse_composition`."""
    parts = parse_composition(text)
    if len(parts) > 1:
        raise SpecError(f"{text!r} is a composition, but one component is wanted here")
    return parts[0]


def parse_composition(text: str) -> list[ComponentSpec]:
    """Read `typos(rate=0.05)+disfluency` into its parts, in order."""
    reader = _Reader(text)
    parts = reader.composition()
    reader.finish()
    return parts


def parse_list(text: str) -> list[str]:
    """Part `jga,fga(lambda=0.25)` or `typos+disfluency,speech` at the commas outside brackets and quotes.

    Each part is read, and so checked.
    """
    reader = _Reader(text)
    parts = [reader.composition()]
    while reader.take(","):
        parts.append(reader.composition())
    reader.finish()
    return ["+".join(map(str, specs)) for specs in parts]


class _Reader:
    """A recursive-descent reader over the tokens of one spec."""

    def __init__(self, text: str) -> None:
        self.text, self.next, self.depth = text, 0, 0
        self.tokens: list[tuple[str, str, int]] = []
        if (position := next((at for at, letter in enumerate(text) if "\ud800" <= letter <= "\udfff"), -1)) >= 0:
            self.fail("a character that is no text", position)
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if match is None:
                self.fail("a quote that never closes, or a character that has no place here", position)
            kind = match.lastgroup or ""
            self.tokens.append((kind, match.group(kind), match.start(kind)))
            position = match.end()

    def fail(self, problem: str, position: int | None = None) -> NoReturn:
        if position is None:
            last = self.tokens[-1] if self.tokens else ("", "", 0)
            position = self.tokens[self.next][2] if self.next < len(self.tokens) else last[2] + len(last[1])
        raise SpecError(
            f"cannot read the spec {self.text!r}: {problem} (at character {position + 1})",
            fix='write it like typos(rate=0.1) or llm(model="my model", mode=json)',
        )

    def peek(self, ahead: int = 0) -> tuple[str, str]:
        index = self.next + ahead
        return self.tokens[index][:2] if index < len(self.tokens) else ("end", "")

    def take(self, mark: str) -> bool:
        is_next = self.peek() == ("mark", mark)
        self.next += is_next
        return is_next

    def finish(self) -> None:
        if self.next < len(self.tokens):
            self.fail(f"{self.peek()[1]!r} is left over")

    def items(self, closing: str) -> Iterator[None]:
        """Stop before each item of a list that ends with a bracket."""
        while not self.take(closing):
            yield
            if self.peek() != ("mark", closing) and not self.take(","):
                self.fail(f"expected ',', found {self.peek()[1] or 'the end'!r}")

    def composition(self) -> list[ComponentSpec]:
        parts = [self.spec()]
        while self.take("+"):
            parts.append(self.spec())
        return parts

    def spec(self) -> ComponentSpec:
        kind, name = self.peek()
        if kind != "word" or not _NAME.fullmatch(name):
            self.fail(f"expected a component's name, found {name or 'the end'!r}")
        self.next += 1
        positional: list[Value] = []
        arguments: dict[str, Value] = {}
        for _ in self.items(")") if self.take("(") else ():
            kind, key = self.peek()
            if kind == "word" and self.peek(1) == ("mark", "="):
                if key in arguments:
                    self.fail(f"the argument {key!r} is given twice")
                self.next += 2
                arguments[key] = self.value()
            elif arguments:
                self.fail("an argument without a name must come before the named ones")
            else:
                positional.append(self.value())
        return ComponentSpec(name, tuple(positional), arguments)

    def value(self) -> Value:
        if self.depth == _MAX_DEPTH:
            self.fail(f"brackets are nested more than {_MAX_DEPTH} deep")
        self.depth += 1
        kind, text = self.peek()
        value: Value
        if self.take("["):
            value = [self.value() for _ in self.items("]")]
        elif kind == "word" and self.peek(1) == ("mark", "("):
            value = self.spec()
        elif kind in ("end", "mark"):
            self.fail(f"expected a value, found {text or 'the end'!r}")
        else:
            value = self.plain(kind, text)
            self.next += 1
        self.depth -= 1
        return value

    def plain(self, kind: str, text: str) -> Value:
        if kind == "word":
            return _CONSTANTS.get(text, text)
        try:
            if kind == "string":
                return str(json.loads(text, strict=False))
            return int(text) if text.lstrip("+-").isdigit() else float(text)
        except ValueError:  # Python refuses whole numbers of thousands of digits
            is_text = kind == "string"
            self.fail(
                f"{text} is not a text with valid escapes" if is_text else f"a number of {len(text)} digits is too long"
            )


def print_value(value: Value) -> str:
    """A value as a spec writes it."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    if isinstance(value, list):
        return f"[{', '.join(print_value(item) for item in value)}]"
    if isinstance(value, str):
        return value if _BARE.fullmatch(value) and value not in _CONSTANTS else json.dumps(value, ensure_ascii=False)
    if isinstance(value, ComponentSpec):
        return str(value) if value.positional or value.arguments else f"{value.name}()"
    # Not repr(value): numpy's numbers are floats too, and print as np.float64(0.1).
    return float.__repr__(value) if isinstance(value, float) else int.__repr__(value)


def _refuse_endless(name: str, value: Value) -> None:
    """JSON, and so a run's manifest, has no infinity and no "not a number"."""
    if isinstance(value, float) and not math.isfinite(value):
        raise SpecError(f"{name}: {value} is not a finite number", fix="leave the argument out, or give a number")
    if isinstance(value, list):
        for item in value:
            _refuse_endless(name, item)
