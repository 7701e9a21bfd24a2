from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.llm.found_json import Found, find_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(), VALUES, min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("no", []),
        ("{", []),
        ('{"a": 1', []),
        ("{x} and {]", []),
        ('<think>{"a": 1}</think>\n{"b": null}', [{"b": None}]),
        ('<think>{"a": 1}', []),
        ('so {"a": 1}</think>{"b": 2}', [{"b": 2}]),
        ('{"a": 1} or [2, {"b": 3}]', [{"a": 1}, [2, {"b": 3}]]),
        ('I {mean} ```json\n{"a": "}"}\n```', [{"a": "}"}]),
        ('{"a": "b"}} ]', [{"a": "b"}]),
        ("[" * 100_000, []),
    ],
)
def test_what_is_found(text: str, values: list[Any]) -> None:
    assert find_json(text) == [Found(value) for value in values]


@given(OBJECTS)
def test_prose_around_it_changes_nothing(data: dict[str, Any]) -> None:
    text = json.dumps(data).replace("<", "\\u003c")
    assert find_json(f"Here it is:\n```json\n{text}\n``` Is that fine?") == [Found(data)]


@given(OBJECTS, st.data())
def test_a_cut_loses_the_end_and_invents_nothing(data: dict[str, Any], draw: st.DataObject) -> None:
    """What comes before the cut is there as it was, in order; only the last of it may itself be cut."""
    text = json.dumps(data).replace("<", "\\u003c")
    end = draw.draw(st.integers(0, len(text) - 1))
    for found in find_json(text[:end]):
        assert found.is_cut
        *before, last = found.value.items() or [(None, None)]
        assert before == list(data.items())[: len(before)]
        assert last == (None, None) or last[0] == list(data)[len(before)]
    # Every member that a comma follows is whole.
    members = [", ".join(json.dumps({k: v})[1:-1] for k, v in list(data.items())[:n]) for n in range(1, len(data))]
    wholes = [n for n, member in enumerate(members, 1) if len(member.replace("<", "\\u003c")) + 1 < end]
    if wholes:
        [found] = find_json(text[:end])
        assert list(found.value.items())[: wholes[-1]] == list(data.items())[: wholes[-1]]
