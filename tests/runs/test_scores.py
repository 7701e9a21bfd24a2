"""Slices of a run: of each variant, of pairs, of variants together, and in the suite's table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

import dstress
from dstress import corpora
from dstress.errors import DstressError
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import Run, RunOptions
from dstress.reports.charts import WIDE
from dstress.reports.plots import make_plots
from dstress.runs.folder import ORIGINAL, Cell
from dstress.runs.suites import Across, Column, Suite
from dstress.trackers.base import Answer, Context, Failed
from dstress.trackers.gold import Gold
from tests.corpora import layouts
from tests.corpora.test_sgdx import variant_folder

OPTIONS = RunOptions(resamples=50, report=False)
TOGETHER = Across("both", ("schema_variant", "schema_noise"))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A service that is renamed by one variant; the first of the two is seen in training, the other is not."""
    corpora.add("sgd", layouts.sgd(tmp_path / "sgd"))
    corpora.add("sgd-x", variant_folder(tmp_path / "x"))
    corpus = corpora.load("sgd:test")
    corpus.seen = frozenset({"Hotels_1"})
    table = (
        Column("all", "both", "ss(jga)"),
        Column("one service", "both", "ss(jga)", ("service", "Hotels_1")),
        Column("seen", "both", "jga-orig", ("seen", "seen")),
        Column("unseen", "both", "jga-orig", ("seen", "unseen")),
        Column("pairs", "schema_variant", "consistent-jga(over=all)", ("service", "Taxis_1")),
        Column("no such", "both", "ss(jga)", ("service", "Hotel_1")),
    )
    suite = Suite("mine", slices=("seen",), convention="dstc8", across=(TOGETHER,), table=table)
    return evaluate(suite, "rules", corpus, tmp_path / "run", OPTIONS)


def cell(run: Run, column: str) -> Cell:
    return next(found for found in run.scores.table if found.column == column)


def test_a_column_over_variants_is_cut(run: Run) -> None:
    scores = run.scores
    by_service, by_seen = (scores.across_slices["both"][name] for name in ("service", "seen"))
    assert list(by_service) == ["Hotels_1", "Taxis_1"] and list(by_seen) == ["seen", "unseen"]
    one, all_ = cell(run, "one service").score, cell(run, "all").score
    assert one and all_ and one.n == by_service["Hotels_1"]["units"] < all_.n
    assert one.value == by_service["Hotels_1"]["ss(jga)"]
    assert one.value == 0 and math.isnan(one.low)  # nothing varies in two units, which is no certainty
    assert "|service:Hotels_1|" in one.signature
    seen, unseen = cell(run, "seen").score, cell(run, "unseen").score
    own = scores.variants["original"].slices["seen"]
    assert seen and unseen and seen.value == own["seen"]["jga"] and unseen.value == own["unseen"]["jga"]


def test_a_column_of_pairs_is_cut(run: Run) -> None:
    found, part = cell(run, "pairs"), run.scores.paired_slices["schema_variant"]["service"]["Taxis_1"]
    assert found.score and found.score.value == part[found.metric] and found.score.n == part["units"]


def test_a_renamed_service_is_no_stranger(run: Run) -> None:
    assert list(run.scores.variants["schema_variant"].slices["service"]) == ["Lodging_1", "Taxis_1"]
    cards = run.scores.variants
    assert all(list(card.slices["seen"]) == ["seen", "unseen"] for card in cards.values())


def test_a_key_that_is_not_there_says_so(run: Run) -> None:
    assert "did you mean 'Hotels_1'" in cell(run, "no such").missing


def test_figure_6_is_sensitivity_by_service(run: Run) -> None:
    scores = run.scores
    made = {"Hotels_1": {"jga-v1-5": 0.5, "ss(jga)": 0.8}, "Taxis_1": {"jga-v1-5": 0.9, "ss(jga)": 0.1}}
    scores.across_slices = {"both": {"service": made}}
    drawn = make_plots(scores)["sensitivity"]
    data = str(drawn.chart(WIDE).to_dict())
    assert "'mean': 50.0, 'sensitivity': 80.0" in data and "jga-v1-5, %" in data and "ss(jga) ↓, %" in data
    scores.across_slices = {}
    assert "sensitivity" not in make_plots(scores)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (Column("c", "both", "ss(jga)", ("sevice", "x")), "unknown slice 'sevice'; did you mean 'service'"),
        (Column("c", "both", "ss(jga)", ("seen", "unsen")), "did you mean 'unseen'"),
        (Column("c", "both", "ss(jga)", ("changed", "changed")), "'changed' cuts nothing"),
        (Column("c", "original", "jga", ("slot", "x")), "jga cannot be cut by 'slot'"),
    ],
)
def test_a_wrong_slice_fails_before_anything_is_tracked(column: Column, words: str, tmp_path: Path) -> None:
    corpora.add("sgd", layouts.sgd(tmp_path / "sgd"))
    suite = Suite("mine", across=(TOGETHER,), table=(column,))
    with pytest.raises(DstressError, match=words) as told:
        evaluate(suite, "rules", "sgd:test", tmp_path / "run", OPTIONS)
    assert "[[table]] 'c'" in told.value.where and not (tmp_path / "run").exists()
    with pytest.raises(DstressError, match="unknown slice 'servce'"):
        evaluate(Suite("mine", slices=("servce",)), "rules", "sgd:test", tmp_path / "run", OPTIONS)


class Speechless(Gold):
    """Answers like gold, but for the second turn of each dialogue."""

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        answers = super().track(contexts)
        return [Failed("lost") if c.turn == 1 else a for c, a in zip(contexts, answers, strict=True)]


def test_a_failed_turn_says_nothing_and_the_responses_of_the_others_are_scored(tmp_path: Path) -> None:
    corpus = dstress.load("reminder:test")[:3]
    run = dstress.evaluate(
        "raddle", Speechless(), corpus, tmp_path / "run", only=("typos",), resamples=5, report=False, max_failed=0.5
    )
    card = run.scores.variants[ORIGINAL]
    assert run.scores.failed[ORIGINAL] == 3 and 0 < card["bleu"].value < 100


def test_what_always_holds_of_the_original_is_no_note(tmp_path: Path) -> None:
    suite = Suite("small", metrics=("jga", "words-changed"), stressors=("typos",))
    run = evaluate(suite, "gold", dstress.load("reminder:test")[:2], tmp_path / "run", OPTIONS)
    assert "words-changed" in run.scores.variants["typos"] and "words-changed" not in run.scores.variants["original"]
    assert not any("words-changed" in note for note in run.scores.notes)
