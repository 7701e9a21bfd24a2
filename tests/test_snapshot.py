"""What dstress gives for fixed inputs is what benchmarks/snapshot.json holds: a change of values is made on purpose."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks import snapshot
from tests.parts import REAL_DATA, need

STORED = json.loads(snapshot.STORED.read_text())
ENTRIES = dict(snapshot.entries())


def test_every_entry_is_stored() -> None:
    assert set(STORED) == set(ENTRIES)


@pytest.fixture(scope="module")
def corpora(new_home: Callable[[], Any]) -> Any:
    """A home with the corpora that the entries read, imported once."""
    need(REAL_DATA, "flite", "apertium", "pocketsphinx")
    home = new_home()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSTRESS_HOME", str(home))
        snapshot.import_corpora()
    return home


@pytest.mark.slow
@pytest.mark.parametrize("start", sorted({"/".join(name.split("/")[:2]) for name in ENTRIES}))
def test_it_gives_what_is_stored(start: str, corpora: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSTRESS_HOME", str(corpora))
    made = {name: work() for name, work in ENTRIES.items() if name.startswith(f"{start}/") or name == start}
    changed = [line for name in made for line in snapshot.differences(STORED[name], made[name], name)]
    assert not changed, "if this is meant: python -m benchmarks.snapshot --write, and say why in the commit"
