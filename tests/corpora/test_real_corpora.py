"""The field's real files: counts that the literature can be compared with, to the dialogue and turn."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from dstress import corpora
from dstress.cli.main import main
from dstress.corpora.difference import compare_corpora
from dstress.corpora.store import Manifest

COUNTS: dict[str, dict[str, tuple[int, int | None]]] = {
    "multiwoz21-raw": {"val": (999, 7_365), "test": (1_000, 7_372)},
    "multiwoz21-trade": {"train": (7_904, 54_984), "dev": (1_000, 7_371), "test": (999, 7_368)},
    "sgd": {"train": (12_174, 111_878), "dev": (2_098, 19_384), "test": (2_921, 24_863)},
    "unified/kvret.zip": {"train": (2_424, None), "validation": (302, None), "test": (304, None)},
    "unified/camrest.zip": {"train": (406, None), "validation": (135, None), "test": (135, None)},
    "unified/dailydialog.zip": {"train": (11_118, None), "validation": (1_000, None), "test": (1_000, None)},
    "unified/multiwoz21_sample.json": {"train": (10, 60)},
}


def counts(entry: Manifest, wanted: dict[str, tuple[int, int | None]]) -> dict[str, tuple[int, int | None]]:
    return {
        split: (found.dialogues, found.turns if wanted[split][1] is not None else None)
        for split, found in entry.splits.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("source", COUNTS)
def test_counts(source: str, shared: Path) -> None:
    (entry,) = corpora.add("mine", shared / "data" / source)
    assert counts(entry, COUNTS[source]) == COUNTS[source]


@pytest.mark.slow
def test_sgd_services(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for split in ("train", "test"):
        corpora.add("sgd", shared / f"data/sgd/{split}.tar.xz")
    with pytest.raises(SystemExit):
        main(["corpora", "show", "sgd", "--json"])
    shown = json.loads(capsys.readouterr().out)
    assert (shown["splits"]["test"]["services"], shown["splits"]["test"]["unseen_services"]) == (21, 15)
    assert shown["splits"]["test"]["frames"] == 26_802


def test_raw_and_trade_labels_agree_but_for_documented_fixes(shared: Path) -> None:
    """docs/corpora.md tells the three kinds: a dialogue left out, services outside the goal, spelling."""
    corpora.add("raw", shared / "data/multiwoz21-raw/test.json.zip")
    corpora.add("trade", shared / "data/multiwoz21-trade/test_dials.json.zip")
    raw, trade = corpora.load("raw:test"), corpora.load("trade:test")
    found = compare_corpora(raw, trade)
    assert (found.only_first, found.only_second, found.other_length) == (["PMUL1455"], [], [])
    assert (found.dialogues, found.turns, found.turns_that_differ) == (999, 7_368, 474)
    assert not [row for row in found.labels if row.first is None]
    dropped = {(row.slot, row.first): row.turns for row in found.labels if row.second is None}
    assert sum(dropped.values()) == 152
    services = {dialogue.id: set(dialogue.services) for dialogue in trade}
    goalless = sum(
        slot.partition("-")[0] not in services.get(dialogue.id, {slot.partition("-")[0]})
        for dialogue in raw
        for turn in dialogue.turns
        for slot in turn.state
    )
    assert goalless == 152


def test_multiwoz_schema_has_the_thirty_slots(shared: Path) -> None:
    from dstress.text.slot_names import multiwoz_slots

    corpora.add("raw", shared / "data/multiwoz21-raw/test.json.zip")
    assert sorted(corpora.load("raw:test").schema.slots) == sorted(multiwoz_slots())


def test_multiwoz_spans_are_where_the_words_are(shared: Path) -> None:
    """No span is lost; most say the annotated value letter by letter, the rest say it otherwise ("four" for 4)."""
    corpora.add("raw", shared / "data/multiwoz21-raw/test.json.zip")
    with zipfile.ZipFile(shared / "data/multiwoz21-raw/test.json.zip") as archive:
        raw = json.loads(archive.read("test.json"))
    literal = annotated = kept = 0
    for dialogue in corpora.load("raw:test"):
        for index, turn in enumerate(dialogue.turns):
            spans = [turn.user[span.start : span.end] for frame in turn.frames for span in frame.spans]
            values = [entry[2] for entry in raw[dialogue.id]["log"][2 * index]["span_info"]]
            kept += len(spans)
            annotated += len(values)
            literal += (Counter(map(squashed, spans)) & Counter(map(squashed, values))).total()
    assert kept == annotated == 7_202 and literal == 6_632


def squashed(text: str) -> str:
    return "".join(text.split()).casefold()
