"""Sums are sums: of any shards, in any order, over any slice; and a stream's are those of the whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.conventions import conventions
from dstress.dialogue import Dialogue, Turn
from dstress.predictions import Prediction, read_predictions
from dstress.scoring import tally as tallying
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.metrics import metrics
from dstress.scoring.score import ScoringOptions, score
from dstress.scoring.tally import Tally
from tests.scoring.metrics.pairs import Pair, columns_of, several

NAMES = ("jga", "sa", "aga", "rsa", "fga", "gca", "slot-f1", "noncat-jga", "cat-aga")
SLICES = ("service", "domain", "seen", "turn", "active", "dialogue", "slot")
SPECS = ("exact", "dstc8", "multiwoz22")
MADE = {spec: conventions.create(spec) for spec in SPECS}


def tallied(spec: str, *shards: list[Pair]) -> Tally:
    tally = Tally({name: metrics.create(name) for name in NAMES}, SLICES, 20, 1)
    for shard in shards:
        tally.add(Alignment(columns_of(*shard), MADE[spec]), {"hotel"})
    return tally


def everything(tally: Tally) -> dict[str, list[float]]:
    """All sums of a tally, by a name each."""
    found = {name: tally.sums(name).tolist() for name in NAMES}
    for slice_name, keys in tally.slices.items():
        for key, row in keys.items():
            # A slice may list a key that none of the shard's units has: nothing, or zeros, are the same.
            found |= {f"{slice_name}/{key}/{name}": sums.tolist() for name, sums in row.items() if sums.any()}
    return found | {f"slot/{slot}": row.tolist() for slot, row in tally.slots.items()}


@given(found=several, data=st.data())
def test_shards_of_any_size_and_order_add_up_to_one_pass(found: list[Pair], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(found))
    cut = data.draw(st.integers(0, len(found)))
    for spec in SPECS:
        whole = everything(tallied(spec, found))
        parts = everything(tallied(spec, *(shard for shard in (shuffled[:cut], shuffled[cut:]) if shard)))
        assert parts.keys() == whole.keys()
        for name, sums in whole.items():
            assert parts[name] == pytest.approx(sums, abs=1e-12), (spec, name)


@given(found=several)
def test_slices_over_units_are_a_partition(found: list[Pair]) -> None:
    for spec in SPECS:
        tally = tallied(spec, found)
        for slice_name in ("turn", "active", "dialogue"):
            rows = tally.slices[slice_name].values()
            for name in NAMES:
                summed = np.sum([row[name] for row in rows], axis=0)
                np.testing.assert_allclose(summed, tally.sums(name), atol=1e-12, err_msg=f"{spec} {slice_name} {name}")


@given(found=several)
def test_services_and_domains_are_a_partition_of_frames(found: list[Pair]) -> None:
    tally = tallied("dstc8", found)
    for slice_name in ("service", "domain", "seen"):
        for name in NAMES:
            rows = [row[name] for row in tally.slices[slice_name].values()]
            np.testing.assert_allclose(np.sum(rows, axis=0) if rows else 0 * tally.sums(name), tally.sums(name))


@given(found=several)
def test_the_slot_table_holds_the_counts_of_all_turns(found: list[Pair]) -> None:
    tally = tallied("exact", found)
    alignment = Alignment(columns_of(*found), MADE["exact"])
    totals = [alignment.counts[kind].sum() for kind in ("right", "wrong", "missed", "extra")]
    np.testing.assert_array_equal(np.sum(list(tally.slots.values()), axis=0) if tally.slots else np.zeros(4), totals)
    assert sum(tally.confusions.values()) == totals[1]


@pytest.fixture(scope="module")
def copied(shared: Path) -> list[Prediction]:
    return list(read_predictions(shared / "data/predictions/copy-a-test.json.zip"))


def test_a_stream_gives_the_same_values_and_nearly_the_same_intervals(
    copied: list[Prediction], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ScoringOptions(resamples=2000)
    names = ["jga", "sa", "aga", "rsa", "fga", "gca", "slot-f1"]
    usual = score(copied, metrics=names, by=["turn"], options=options)
    monkeypatch.setattr(tallying, "MOST_DIALOGUES", 100)
    streamed = score(copied, metrics=names, by=["turn"], options=options)
    assert "|ci:poisson.2000|" in streamed["jga"].signature
    assert "|ci:logit|" in usual["jga"].signature
    assert streamed.slices == usual.slices
    for name in names:
        assert streamed[name].value == pytest.approx(usual[name].value, abs=1e-12), name
        width = usual[name].high - usual[name].low
        assert streamed[name].low == pytest.approx(usual[name].low, abs=0.1 * width), name
        assert streamed[name].high == pytest.approx(usual[name].high, abs=0.1 * width), name


def test_a_stream_without_spread_is_as_wide_as_its_dialogues_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    gold = {"hotel-area": ("north",)}
    right = [Prediction(f"d{n}", turn, {"hotel-area": "north"}, gold=gold) for n in range(20) for turn in range(3)]
    ends = pytest.approx((0.025 ** (1 / 20), 1.0))
    for most in (100, 5):
        monkeypatch.setattr(tallying, "MOST_DIALOGUES", most)
        jga = score(right, metrics=["jga"])["jga"]
        assert (jga.low, jga.high) == ends
        assert ("|ci:poisson" in jga.signature) == (most == 5)


def test_a_streams_intervals_do_not_hang_on_its_shards(
    copied: list[Prediction], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tallying, "MOST_DIALOGUES", 0)
    whole = score(copied, metrics=["jga", "gca"])
    monkeypatch.setattr("dstress.scoring.shards.SHARD_TURNS", 500)
    shards = score(list(reversed(copied)), metrics=["jga", "gca"])
    for name in ("jga", "gca"):
        assert (shards[name].low, shards[name].high) == pytest.approx((whole[name].low, whole[name].high), abs=1e-12)


def test_a_service_is_scored_over_the_turns_in_which_either_side_uses_it() -> None:
    turns = Turn("?", "", {"hotel-area": ("north",)}), Turn("?", "", {"hotel-area": ("south",)})
    answers = [Prediction("d", 0, {"hotel-area": "north"}), Prediction("d", 1, {"Taxis_1-day": "monday"})]
    tally = tallied("exact", [(Dialogue("d", turns), answers)])
    found = {name: {key: row["jga"].tolist() for key, row in keys.items()} for name, keys in tally.slices.items()}
    assert found["turn"] == {"0": [1.0, 1.0], "1": [0.0, 1.0]}
    assert found["service"] == {"hotel": [1.0, 2.0], "Taxis_1": [0.0, 1.0]}
    assert found["domain"] == {"hotel": [1.0, 2.0], "Taxis": [0.0, 1.0]}
    assert found["seen"] == {"seen": [1.0, 2.0], "unseen": [0.0, 1.0]}
