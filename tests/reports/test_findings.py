"""Findings are told only where they are beyond chance, with their numbers, one of each kind."""

from __future__ import annotations

import numpy as np
import pytest

from dstress.reports.findings import findings, score_evidence
from dstress.runs.folder import Drop, Scores
from dstress.scoring.metrics.consistency import Cjga, NewlyRight, NewlyWrong
from dstress.scoring.scorecard import Score, Scorecard


def card(**metrics: tuple[float, float]) -> Scorecard:
    """Metrics as (value, half of the interval's width)."""
    scores = {
        name.replace("_", "-"): Score(value, value - half, value + half, 1000, name)
        for name, (value, half) in metrics.items()
    }
    return Scorecard({"turns": "1000", "conv": "exact"}, scores)


def drop(before: float, after: float, half: float = 0.01, p: float = 0.001) -> Drop:
    change = after - before
    ends = {"low": change - half, "high": change + half}
    return Drop(original=before, stressed=after, difference=change, **ends, p=p, p_holm=p)


def made(**changes: Drop) -> Scores:
    cards = {"original": card(jga=(0.7, 0.01))} | {name: card(jga=(d.stressed, 0.01)) for name, d in changes.items()}
    return Scores(cards, drops=changes)


def titles(scores: Scores) -> list[str]:
    return [finding.title for finding in findings(scores)]


def test_the_worst_stressor_is_told_with_its_numbers() -> None:
    (worst,) = findings(made(typos=drop(0.7, 0.6), verbosity=drop(0.7, 0.4)))
    assert worst.title == "verbosity costs the most"
    assert worst.variant == "verbosity"
    for part in ("70.0 %", "40.0 %", "−30.0 points", "[−31.0, −29.0]", "p = 0.001", "2 of 2 stressors"):
        assert part in worst.text


@pytest.mark.parametrize("change", [drop(0.7, 0.6, 0.2, p=0.2), drop(0.7, 0.72, 0.05, p=0.4)])
def test_what_may_be_chance_is_told_with_the_harm_that_it_may_be(change: Drop) -> None:
    (only,) = findings(made(typos=change))
    assert only.title == "No clear effect of typos"
    assert f"a loss of up to {-100 * change.low:.1f} points is compatible with the data" in only.text


def test_a_run_without_stressors_has_nothing_to_say_of_them() -> None:
    assert titles(Scores({"original": card(jga=(0.7, 0.01))})) == []


def test_a_stressor_that_helps_is_a_surprise() -> None:
    assert "Accuracy rises under typos" in titles(made(typos=drop(0.7, 0.8)))


def test_what_surely_does_no_harm_is_told_beside_what_does() -> None:
    found = findings(made(typos=drop(0.7, 0.699, 0.005, p=0.8), verbosity=drop(0.7, 0.4)))
    assert [finding.title for finding in found] == ["verbosity costs the most", "typos does no harm"]
    assert found[1].text == "With 95 % confidence it costs at most 0.60 points of joint goal accuracy."


def calm(original: float = 0.7, broken: Score | None = None, failed: str = "") -> Scores:
    """A run whose one stressor moves nothing, by an interval of half a point."""
    scores = made(typos=drop(original, original, 0.005, p=1.0))
    scores.paired = {"typos": {"newly-wrong": broken}} if broken else {}
    scores.failed = {failed: 2} if failed else {}
    return scores


def test_no_harm_is_told_only_where_the_data_could_show_it() -> None:
    """At the floor, with answers missing, or from few turns a difference of nothing says nothing."""
    sure, few = Score(0.0, 0.0, 0.01, 500, ""), Score(0.0, 0.0, 0.23, 14, "")
    assert titles(calm(broken=sure)) == ["typos does no harm"]
    told = {
        "only 5.0 % of the original turns are right, which leaves too little to lose": calm(0.05),
        "only 0.0 % of the original turns are right, which leaves too little to lose": calm(0.0),
        "2 predictions are missing": calm(failed="original"),
        "up to 23.0 % of the 14 changed turns that are right on the original may break": calm(broken=few),
        "it changed no turn that is right on the original": calm(
            broken=Score(float("nan"), float("nan"), float("nan"), 0, "")
        ),
    }
    assert findings(calm(failed="typos")) == findings(calm(failed="original"))
    for reason, scores in told.items():
        (only,) = findings(scores)
        assert (only.title, only.text) == (
            "No clear effect of typos",
            f"No change is significant, but {reason}.",
        )


def test_metrics_disagree_only_where_their_intervals_do_not_touch() -> None:
    def disagreeing(half: float) -> Scores:
        cards = {
            "original": card(jga=(0.9, half), gca=(0.9, half)),
            "typos": card(jga=(0.5, half), gca=(0.8, half)),
            "values": card(jga=(0.6, half), gca=(0.7, half)),
        }
        return Scores(cards)

    assert titles(disagreeing(0.01)) == ["JGA and gca disagree on which stressor is worse"]
    assert titles(disagreeing(0.2)) == []


def test_turns_that_break_are_told_where_the_total_hides_them() -> None:
    scores = made(entities=drop(0.7, 0.69, 0.02, p=0.3))
    broken, fixed = Score(0.2, 0.18, 0.22, 700, "newly-wrong"), Score(0.43, 0.4, 0.46, 300, "newly-right")
    scores.paired = {"entities": {"newly-wrong": broken, "newly-right": fixed}}
    (only,) = findings(scores)
    assert only.title == "entities breaks more than the total shows"
    assert "Of the 700 changed turns that are right on the original, 20.0 % become wrong" in only.text
    assert "[18.0, 22.0]" in only.text and "129 others become right" in only.text


def test_what_breaks_is_not_what_cjga_leaves() -> None:
    """cJGA has also those pairs below its line that are right on the copy alone: 1 - cJGA is another number."""
    scores = made(entities=drop(0.7, 0.5))
    table = np.array([[1, 1]] * 70 + [[1, 0]] * 20 + [[0, 1]] * 10 + [[0, 0]] * 10, np.float64)
    sums = {metric.name: metric.statistics(table).sum(axis=0) for metric in (Cjga(), NewlyWrong(), NewlyRight())}
    values = {name: float(row[0] / row[1]) for name, row in sums.items()}
    assert values == {"cjga": 0.7, "newly-wrong": 20 / 90, "newly-right": 0.5}
    scores.paired = {
        "entities": {name: Score(v, v - 0.02, v + 0.02, sums[name][1], name) for name, v in values.items()}
    }
    told = next(finding for finding in findings(scores) if finding.title == "entities breaks correct turns")
    assert "22.2 % become wrong" in told.text


def test_missing_answers_come_first() -> None:
    scores = made(typos=drop(0.7, 0.5))
    scores.failed = {"typos": 40}
    assert findings(scores)[0].title == "Predictions are missing"
    scores.failed = {"typos": 4}
    assert "Predictions are missing" not in titles(scores)


def test_a_metric_that_hardly_sees_a_loss_is_told() -> None:
    scores = made(typos=drop(0.7, 0.4))
    scores.variants["original"].metrics["slot-f1"] = Score(0.95, 0.94, 0.96, 1, "")
    scores.variants["typos"].metrics["slot-f1"] = Score(0.93, 0.92, 0.94, 1, "")
    for variant in ("original", "typos"):  # of the turns that no stressor touches
        scores.variants[variant].metrics["jga-floor"] = Score(0.12, 0.11, 0.13, 1, "")
    assert titles(scores) == ["typos costs the most", "slot-f1 hardly moves"]


def test_the_most_interesting_comes_first_and_every_sentence_has_its_rows() -> None:
    scores = made(typos=drop(0.7, 0.4), values=drop(0.7, 0.8), entities=drop(0.7, 0.7, 0.001, p=1.0))
    scores.failed = {"typos": 100}
    found, tables = findings(scores), score_evidence(scores).tables
    assert [one.title for one in found] == [
        "Predictions are missing",
        "typos costs the most",
        "Accuracy rises under values",
        "entities does no harm",
    ]
    assert [one.interest for one in found] == sorted((one.interest for one in found), reverse=True)
    for one in found:
        assert one.text == " ".join(sentence.text for sentence in one.sentences)
        for sentence in one.sentences:
            assert sentence.rows and all(0 <= row < len(tables[sentence.table]) for row in sentence.rows)
    stands_on = found[1].sentences[0]
    assert [tables[stands_on.table][row]["stressor"] for row in stands_on.rows] == ["typos"]
