"""A component's text and its data are one thing: what prints reads back, and bad text says what is wrong with it."""

from __future__ import annotations

import importlib
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.errors import SpecError
from dstress.spec import ComponentSpec, parse, parse_composition
from tests.strategies import specs

tokens = st.lists(st.sampled_from([*"()[],=+\"'\\ .5-_", "a", "true", "1e5", "\n", "²", "\x00"]), max_size=12)


@given(specs)
def test_any_spec_prints_and_reads_back(spec: ComponentSpec) -> None:
    # repr, because True == 1 == 1.0.
    assert repr(parse(str(spec))) == repr(spec)


@given(st.lists(specs, min_size=1, max_size=4))
def test_any_composition_prints_and_reads_back(parts: list[ComponentSpec]) -> None:
    assert parse_composition("+".join(map(str, parts))) == parts


def test_a_byte_of_the_command_line_that_is_no_text_is_refused() -> None:
    """It could be neither written nor hashed later."""
    with pytest.raises(SpecError, match="no text"):
        parse('saved("a\udcff")')


@given(st.text() | tokens.map("".join) | tokens.map(lambda found: "a(" + "".join(found)))
def test_any_text_is_a_spec_or_a_spec_error(text: str) -> None:
    try:
        parts = parse_composition(text)
    except SpecError as error:
        assert repr(text) in str(error) or "finite" in str(error) or "name" in str(error)
    else:
        assert parse_composition("+".join(map(str, parts))) == parts


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-3", -3),
        ("+3", 3),
        ("0.1", 0.1),
        (".5", 0.5),
        ("1e-05", 1e-05),
        ("1E5", 1e5),
        ("true", True),
        ("none", None),
        ('"true"', "true"),
        ('"1"', "1"),
        ('""', ""),
        (r'"a \"b\" \u00fc"', 'a "b" ü'),
        ("small-7b", "small-7b"),
        ("1.5.2", "1.5.2"),
        ("/data/x.json", "/data/x.json"),
        ("[]", []),
        ("[1, [a, 2.0],]", [1, ["a", 2.0]]),
        ("jga", "jga"),
        ("fga(lambda=0.5)", ComponentSpec("fga", (), {"lambda": 0.5})),
        ("gca()", ComponentSpec("gca")),
    ],
)
def test_a_value(text: str, value: object) -> None:
    [read] = parse(f"x({text})").positional
    assert (type(read), read) == (type(value), value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected a component's name, found 'the end' (at character 1)"),
        ("1typos", "expected a component's name, found '1typos'"),
        ("typos(rate=0.1", "expected ',', found 'the end' (at character 15)"),
        ("typos(rate=)", "expected a value, found ')' (at character 12)"),
        ("typos)", "')' is left over (at character 6)"),
        ("typos(rate=1, rate=2)", "the argument 'rate' is given twice"),
        ("typos(rate=1, 2)", "an argument without a name must come before the named ones"),
        ('typos(a="open)', "a quote that never closes"),
        ("typos(a='b')", "a character that has no place here"),
        (r'typos(a="\x")', "is not a text with valid escapes (at character 9)"),
        ("typos+", "expected a component's name, found 'the end'"),
        ("a(x=" + "9" * 5000 + ")", "a number of 5000 digits is too long"),
        ("a(" + "[" * 5000, "nested more than 50 deep"),
        ("a(" * 5000, "nested more than 50 deep"),
        ("a(x=1e999)", "inf is not a finite number"),
        ("a(1x=2)", "'1x' cannot be an argument's name"),
    ],
)
def test_bad_text_says_what_and_where(text: str, problem: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse(text)
    assert problem in str(caught.value)


def test_a_composition_is_not_one_component() -> None:
    with pytest.raises(SpecError, match="one component is wanted"):
        parse("typos+disfluency")
    assert parse_composition(" typos( rate = 0.05 )+disfluency ") == [
        ComponentSpec("typos", (), {"rate": 0.05}),
        ComponentSpec("disfluency"),
    ]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, [1.0, [math.nan]]])
def test_a_number_without_end_is_refused(value: float | list[object]) -> None:
    with pytest.raises(SpecError, match="not a finite number"):
        ComponentSpec("typos", (), {"rate": value})


@pytest.mark.parametrize("name", ["", "1a", "a b", "a(b)", "ü", "a\n"])
def test_a_name_that_could_not_be_read_back_is_refused(name: str) -> None:
    with pytest.raises(SpecError, match="cannot be a component's name"):
        ComponentSpec(name)


def test_a_number_of_numpy_prints_as_a_plain_number() -> None:
    numpy = importlib.import_module("numpy")
    assert str(ComponentSpec("typos", (), {"rate": numpy.float64(0.1)})) == "typos(rate=0.1)"


def test_a_spec_survives_json() -> None:
    spec = parse("x([a, b(1)], 2, c=d(e=[none]))")
    assert msgspec.json.decode(msgspec.json.encode(spec), type=ComponentSpec) == spec
