"""The suite `coco` on real dialogues: what users say otherwise costs more the further it goes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np
import pytest

from dstress.corpora import load
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import RunOptions
from dstress.runs.folder import RunFolder
from dstress.runs.judged import predictions_of
from dstress.runs.suites import load as load_suite
from dstress.scoring.significance import paired_test_of_totals
from tests.stressors.generators.training import training

VALUES, COCO, PLUS = "values", "counterfactual", "counterfactual(fallback=values)"


def test_original_above_vs_above_coco_plus(shared: Path, tmp_path: Path) -> None:
    """One run, as it takes a while; a fifth of the training data says the same in a fifth of the time."""
    corpus = load(f"{shared / 'data' / 'multiwoz21-trade'}:test")
    corpus.train = training("multiwoz", shared, 1500)
    options = RunOptions(limit=120, only=(VALUES, COCO, PLUS), resamples=300, report=False)
    templates = msgspec.structs.replace(load_suite("coco"), released={})
    run = evaluate(templates, "rules", corpus, tmp_path / "coco", options)
    _check_order(run)
    _check_table(run)
    quality = run.variant(COCO).quality["quality"]
    assert quality["tags"]["generated"] >= 0.95 * sum(_with_a_goal(quality))


def _check_order(run: RunFolder) -> None:
    """Each step down is beyond chance: to VS from the original by Holm, to CoCo+ from VS by the paired test."""
    drops = run.scores.drops
    assert all(drops[name].p_holm < 0.05 and drops[name].high < 0 for name in (VALUES, PLUS))
    totals = [np.array(list(_right(run, name).values()), float) for name in (PLUS, VALUES)]
    apart = paired_test_of_totals(totals[0], totals[1], lambda sums: sums[..., 0] / sums[..., 1])
    assert apart.difference == pytest.approx(drops[PLUS].stressed - drops[VALUES].stressed)
    assert apart.high < 0


def _right(run: RunFolder, variant: str) -> dict[str, tuple[int, int]]:
    """By dialogue, how many turns are right as SimpleTOD counts, and how many there are."""
    gold = {(d.id, n): _counted(turn.state) for d in run.variant(variant).corpus() for n, turn in enumerate(d.turns)}
    found: dict[str, tuple[int, int]] = {}
    for answer in predictions_of(run.variant(variant)):
        same = _counted(answer.state) == gold[answer.dialogue, answer.turn]
        right, turns = found.get(answer.dialogue, (0, 0))
        found[answer.dialogue] = (right + same, turns + 1)
    return found


def _counted(state: Mapping[str, str | tuple[str, ...]]) -> dict[str, str]:
    """The beliefs that count: none with `none` or `dontcare` in it."""
    beliefs = {slot: value if isinstance(value, str) else value[0] for slot, value in state.items()}
    return {slot: value for slot, value in beliefs.items() if "none" not in value and "dontcare" not in value}


def _check_table(run: RunFolder) -> None:
    cells = {cell.column: cell.score for cell in run.scores.table}
    assert {"original", "VS (O)", "CoCo rare (O)", "CoCo+ rare (O)", "lower bound"} <= cells.keys()
    assert all(score is not None and score.low <= score.value <= score.high for score in cells.values())
    floor = cells.pop("lower bound")
    over_all = [score for column, score in cells.items() if not column.endswith(("changed turns", "unconfirmed"))]
    assert floor is not None and all(score is not None and score.value > floor.value for score in over_all)


def _with_a_goal(quality: dict[str, dict[str, int]]) -> list[int]:
    names = ("no candidate passed the filters", "no words for the goal")
    return [quality["tags"]["generated"], *(quality["fallbacks"].get(name, 0) for name in names)]
