"""Damaged files of every format: read, or refused with an error that a person can act on. Nothing else."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.errors import DstressError
from dstress.predictions import formats, read_predictions
from tests.predictions.examples import EXAMPLES, JSON

odd = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=5),
        st.sampled_from(["", "-", "none", "a-b-c", "0", "-1", "test-d-0", "hotel", "§§", "_", "|", ",", "\ud800"]),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


def survives(name: str, data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / EXAMPLES[name].file
        path.write_bytes(data)
        for format in (None, name):
            try:
                for prediction in read_predictions(path, format=format):
                    assert all(isinstance(value, str) for value in prediction.state.values())
                    assert prediction.turn >= 0
            except DstressError as error:
                assert str(error)


def nodes(node: object) -> list[tuple[object, object]]:
    """Every container in a document with one of its keys."""
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    found: list[tuple[object, object]] = []
    for key, value in inner:
        found += [(node, key), *nodes(value)]
    return found


def mutated(document: object, data: st.DataObject) -> object:
    """The document with one node swapped, dropped, renamed or doubled."""
    document = copy.deepcopy(document)
    container, key = data.draw(st.sampled_from(nodes(document)))
    kind = data.draw(st.sampled_from(["swap", "swap", "drop", "rename", "double"]))
    if kind == "swap":
        container[key] = data.draw(odd)  # type: ignore[index]
    elif kind == "drop" or (isinstance(container, list) and kind == "rename"):
        del container[key]  # type: ignore[attr-defined]
    elif kind == "rename":
        container[data.draw(st.text(max_size=5))] = container.pop(key)  # type: ignore[index,attr-defined]
    elif isinstance(container, list):
        container.append(container[key])  # type: ignore[call-overload]
    return document


@pytest.mark.slow
@pytest.mark.parametrize("name", JSON)
@given(data=st.data())
def test_swapped_nodes(name: str, data: st.DataObject) -> None:
    example = EXAMPLES[name]
    lines = example.sample.splitlines() if example.file.endswith(".jsonl") else [example.sample]
    documents = [json.loads(line) for line in lines]
    for _ in range(data.draw(st.integers(1, 3))):
        documents = [mutated(document, data) if nodes(document) else document for document in documents]
    survives(name, "\n".join(map(json.dumps, documents)).encode())


@pytest.mark.parametrize("name", EXAMPLES)
@given(data=st.data())
def test_flipped_bytes(name: str, data: st.DataObject) -> None:
    damaged = bytearray(EXAMPLES[name].sample.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        if not damaged:
            break
    survives(name, bytes(damaged))


@pytest.mark.parametrize("name", list(formats))
@given(document=odd)
def test_anything_at_all(name: str, document: object) -> None:
    survives(name, json.dumps(document).encode())


@pytest.mark.parametrize("name", EXAMPLES)
def test_another_formats_file(name: str) -> None:
    for other in EXAMPLES.values():
        survives(name, other.sample.encode())
