"""Damaged files of every layout: an importer either reads them or says what is wrong, and never anything else."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress import corpora
from dstress.corpora.checks import read_checked
from dstress.errors import DstressError
from dstress.storage.sources import open_source
from tests.corpora import layouts

JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just([]), st.just({}), st.just([[]]),
    st.sampled_from(["../../x", "/etc/x", "a\x00b", "x" * 300, "CON", "", "\ud800", "9" * 400, "\x1b]52;c;AA\x07"]),
)  # fmt: skip


def read_all(folder: Path) -> None:
    try:
        with open_source(folder) as source:
            for split in corpora.detect(source).splits(source):
                for _ in read_checked(split):
                    pass
    except DstressError as error:
        assert str(error)


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
@pytest.mark.parametrize("layout", layouts.LAYOUTS)
@given(data=st.data())
def test_damaged_bytes(layout: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = layouts.LAYOUTS[layout][1](Path(name))
        path = data.draw(st.sampled_from(files_of(folder)))
        content = path.read_bytes()
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(len(content), start + 20)))
        path.write_bytes(content[:start] + data.draw(st.binary(max_size=8)) + content[end:])
        read_all(folder)


@pytest.mark.slow
@pytest.mark.parametrize("layout", layouts.LAYOUTS)
@given(data=st.data())
def test_values_of_other_types(layout: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = layouts.LAYOUTS[layout][1](Path(name))
        json_files = [path for path in files_of(folder) if path.suffix in (".json", ".jsonl")]
        path = data.draw(st.sampled_from([path for path in json_files if not path.name.endswith("ListFile.json")]))
        content = json.loads(path.read_text())
        swap(content, data)
        path.write_text(json.dumps(content))
        read_all(folder)


def swap(node: Any, data: st.DataObject) -> None:
    """Walk down at random, and put junk where the walk ends."""
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    if not keys:
        return
    key = data.draw(st.sampled_from(keys))
    if isinstance(node[key], dict | list) and node[key] and data.draw(st.integers(0, 5)):
        swap(node[key], data)
    elif isinstance(node, dict) and data.draw(st.booleans()):
        del node[key]
    else:
        node[key] = data.draw(JUNK)
