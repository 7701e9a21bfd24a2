"""A component's hash changes with all of its own source, and with nothing else."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dstress.storage.source_hash import hash_source, source_files
from dstress.stressors.disfluency.stressor import Disfluency
from dstress.stressors.typos import Typos

FILES = {
    "own_tracker.py": "import json, numpy\nfrom own_package.parts import deep\nT = 'words.txt'\nclass Mine: ...\n",
    "own_package/__init__.py": "",
    "own_package/parts/__init__.py": "from . import shallow\n",
    "own_package/parts/shallow.py": "",
    "own_package/parts/deep.py": "def late():\n    from ..far import value\n",
    "own_package/far.py": "value = 1\n",
    "own_package/parts/table.toml": "a = 1\n",
    "words.txt": "a b c\n",
}


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type]:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / "stranger.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("own_tracker").Mine
    for name in [name for name in sys.modules if name.startswith("own_")]:
        del sys.modules[name]


@pytest.mark.parametrize("name", FILES)
def test_every_own_file_counts(name: str, mine: type, tmp_path: Path) -> None:
    before = hash_source(mine)
    assert hash_source(mine) == before
    with (tmp_path / name).open("a") as file:
        file.write("# changed\n")
    assert hash_source(mine) != before


def test_nothing_else_counts(mine: type, tmp_path: Path) -> None:
    assert source_files(mine) == {tmp_path / name for name in FILES}
    before = hash_source(mine)
    (tmp_path / "stranger.py").write_text("changed = True\n")
    assert hash_source(mine) == before


def test_the_houses_own_components_count_their_tables() -> None:
    names = {file.name for file in source_files(Disfluency)}
    assert {
        "stressor.py",
        "alternatives.py",
        "utterance.py",
    } <= names and "quick.toml" not in names
    assert any(file.suffix == ".toml" and file.parent.name == "disfluency" for file in source_files(Disfluency))
    assert hash_source(Disfluency) != hash_source(Typos)


def test_a_class_without_a_file_has_a_hash() -> None:
    assert hash_source(type("Cell", (), {"__module__": "__main__"}))
