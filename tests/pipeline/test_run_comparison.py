"""Runs beside runs: what `gate`, `compare` and curves measure of them, and that they refuse what is not the same."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from dstress.cli.main import cli
from dstress.errors import DstressError
from dstress.pipeline.compare import average_slack, compare
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.gate import Limits, gate
from dstress.pipeline.run import Run, RunOptions, rescore
from dstress.reports.charts import WIDE
from dstress.reports.curves import make_curves
from dstress.reports.html import REPORT
from dstress.reports.views import headline
from dstress.runs.folder import ORIGINAL, RunFolder
from dstress.scoring.metrics.measures import measure_of
from dstress.scoring.score import ScoringOptions
from dstress.scoring.significance import holm
from tests.fakes.trackers import SUITE
from tests.stressors.samples import sample

WRONG_SLOTS = "tests.fakes.metrics:WrongSlots"
GROUPED = (
    SUITE.replace('"slot-f1"]', f'"slot-f1", "ood-f1", "changed-jga", "{WRONG_SLOTS}"]')
    + f"""
[[table]]
column = "wrong slots"
variant = "original"
metric = "{WRONG_SLOTS}"
[[table]]
column = "SS"
variant = "both"
metric = "ss(jga)"
[[across]]
name = "both"
stressors = ["typos", "typos(rate=0.5)"]
"""
)
OF_PAIRS = ["cjga", "consistent-jga", "newly-wrong", "newly-right", "always-wrong"]
OVER_VARIANTS = ["ss(jga)", "ss(jga, over=ever-right)", "diff-rel", "jga-v1-5"]
QUICK, FEW = RunOptions(resamples=20, report=False), ScoringOptions(resamples=500)


def evaluated(folder: Path, tracker: str, name: str, suite: str = GROUPED, options: RunOptions = QUICK) -> Run:
    (folder / f"{name}.toml").write_text(suite)
    return evaluate(str(folder / f"{name}.toml"), tracker, sample("reminder", None, 16), folder / name, options)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("runs")
    trackers = {"gold": "gold", "forgets": "tests.fakes.trackers:Logged", "empty": "empty"}
    return {name: evaluated(folder, tracker, name) for name, tracker in trackers.items()}


@pytest.fixture
def copied(runs: dict[str, Run], tmp_path: Path) -> Run:
    """A run that a test may change."""
    shutil.copytree(runs["forgets"].path, tmp_path / "copied")
    return Run.open(tmp_path / "copied")


def limits(metric: str) -> Limits:
    return Limits(metric=metric)


@pytest.mark.slow
@pytest.mark.parametrize("metric", [*OF_PAIRS, *OVER_VARIANTS, "jga", WRONG_SLOTS])
def test_the_gate_measures_what_the_run_does(runs: dict[str, Run], metric: str) -> None:
    scores = runs["forgets"].scores
    plain = {variant: card.metrics for variant, card in scores.variants.items()}
    known = scores.paired if metric in OF_PAIRS else scores.across if metric in OVER_VARIANTS else plain
    checks = gate(runs["forgets"], runs["gold"], limits(metric)).checks
    assert set(checks) == set(known)
    for place, check in checks.items():
        assert check.new == pytest.approx(known[place][metric].value, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["cjga", "consistent-jga", "newly-wrong", "ss(jga)", "jga-v1-5", "jga", WRONG_SLOTS])
def test_the_gate_knows_which_way_is_better(runs: dict[str, Run], metric: str) -> None:
    assert gate(runs["gold"], runs["forgets"], limits(metric)).passed
    verdict = gate(runs["forgets"], runs["gold"], Limits(max_drop=0.001, metric=metric))
    assert not verdict.passed
    assert all((check.difference < 0) == measure_of(metric).higher_is_better for check in verdict.checks.values())


def test_a_value_that_is_undefined_now_does_not_pass(runs: dict[str, Run]) -> None:
    verdict = gate(runs["empty"], runs["gold"], limits("cjga"))
    assert not verdict.passed and all(math.isnan(check.new) for check in verdict.checks.values())
    assert gate(runs["gold"], runs["empty"], limits("cjga")).passed


def test_a_metric_that_one_variant_lacks_is_named(runs: dict[str, Run]) -> None:
    verdict = gate(runs["gold"], runs["forgets"], limits("changed-jga"))
    assert verdict.passed and set(verdict.checks) == set(runs["gold"].variants[1:])
    assert verdict.missing == ["changed-jga on original cannot be computed: no stressor changed a turn"]


def test_only_accuracies_are_drawn_as_bars(runs: dict[str, Run]) -> None:
    bars = {cell.metric: bar is not None for cell, _, bar in headline(runs["forgets"].scores)}
    assert bars == {"jga": True, "cjga": True, WRONG_SLOTS: False, "ss(jga)": False}
    assert not measure_of("diff-rel").is_share and measure_of("jga-v1-5").is_share


def test_curves_keep_to_a_metrics_unit(runs: dict[str, Run]) -> None:
    wrong = runs["empty"].scores.variants[ORIGINAL][WRONG_SLOTS].value
    values = make_curves([runs["gold"], runs["empty"]])["curves"].chart(WIDE).to_dict(validate=False)["data"]["values"]
    assert wrong > 1
    assert {row["run"]: row["value"] for row in values if row["measure"] == "wrong slots, slots"} == {
        "gold": 0,
        "empty": wrong,
    }
    assert all(row["value"] == 100 for row in values if row["run"] == "gold" and row["measure"] == "original, %")


@pytest.mark.slow
def test_runs_are_compared_under_every_variant(runs: dict[str, Run]) -> None:
    metrics = ["jga", WRONG_SLOTS, "changed-jga", "ood-f1", "cjga", "newly-wrong", "ss(jga)", "diff-rel", "jga-v1-5"]
    made = compare([runs["gold"].path, runs["forgets"]], metrics=metrics, options=FEW)
    scores = runs["forgets"].scores
    assert list(made.variants) == [*runs["gold"].variants, "both"]
    for place, compared in made.variants.items():
        own = {**scores.across.get(place, {}), **scores.paired.get(place, {})}
        own |= scores.variants[place].metrics if place in scores.variants else {}
        for metric, score in compared.systems["forgets"].items():
            assert score.value == pytest.approx(own[metric].value, abs=1e-12)
            assert compared.pairs[0].tests[metric].difference == pytest.approx(
                score.value - compared.systems["gold"][metric].value, abs=1e-12
            )
    assert set(made.systems["gold"]) == {"jga", WRONG_SLOTS, "ood-f1"}
    assert set(made.stressed["typos"].systems["gold"]) == {
        *("jga", WRONG_SLOTS, "ood-f1", "changed-jga", "cjga", "newly-wrong")
    }
    assert set(made.stressed["both"].pairs[0].tests) == {"ss(jga)", "diff-rel", "jga-v1-5"}
    tests = [test for compared in made.variants.values() for test in compared.pairs[0].tests.values()]
    assert [test.p_holm for test in tests] == holm([test.p for test in tests])
    slack = average_slack({name: compared.systems for name, compared in made.variants.items()})
    assert list(made.avg_slack.values()) == pytest.approx(slack.values, nan_ok=True) and slack.caption in made.notes
    assert "forgets: ood-f1 cannot be computed: the predictions do not say what is out of domain" in made.notes
    assert made.pairs[0].mcnemar is not None and made.stressed["typos"].pairs[0].slots


def test_a_run_differs_from_itself_by_nothing(runs: dict[str, Run], copied: Run) -> None:
    made = compare([runs["forgets"], copied], options=FEW)
    tests = [test for compared in made.variants.values() for test in compared.pairs[0].tests.values()]
    assert len(tests) == 4 + 3 + 1 and all(test.difference == 0 and test.p == 1 for test in tests)


def test_the_gate_and_the_comparison_are_one_test(runs: dict[str, Run]) -> None:
    options = ScoringOptions(seed=runs["gold"].manifest.seed)
    made = compare([runs["gold"], runs["forgets"]], metrics=["jga"], options=options)
    checks = gate(runs["forgets"], runs["gold"], limits("jga")).checks
    for variant, check in checks.items():
        test = made.variants[variant].pairs[0].tests["jga"]
        assert (test.difference, test.low, test.high, test.p) == (check.difference, check.low, check.high, check.p)


@pytest.mark.slow
def test_compare_runs_on_the_command_line(runs: dict[str, Run], tmp_path: Path) -> None:
    folders = [str(runs[name].path) for name in ("gold", "forgets", "empty")]
    arguments = ["compare", *folders, "--resamples", "1000", "--metrics", f"jga,cjga,newly-wrong,{WRONG_SLOTS}"]
    shown = CliRunner().invoke(cli, arguments, catch_exceptions=False).output
    wrong = runs["empty"].scores.variants[ORIGINAL][WRONG_SLOTS].value
    assert f"{wrong:.2f} slots [" in shown and f"{100 * wrong:.2f}" not in shown
    assert "newly-wrong (lower is better)" in shown and f"{WRONG_SLOTS} (in slots, lower is better)" in shown
    assert "forgets is below gold in jga on original" in shown and "empty minus gold" in shown
    files = [
        "--json",
        str(tmp_path / "c.json"),
        "--markdown",
        str(tmp_path / "c.md"),
        "--latex",
        str(tmp_path / "c.tex"),
    ]
    assert CliRunner().invoke(cli, [*arguments, *files]).exit_code == 0
    made = json.loads((tmp_path / "c.json").read_text())
    assert list(made)[-4:] == ["avg-slack", "slices", "stressed", "ranking"] and list(made["stressed"]) == [
        *runs["gold"].variants[1:]
    ]
    # Where nothing is right, there is no cjga, and without all of the measures there is no average.
    assert made["avg-slack"]["gold"] == 0 < made["avg-slack"]["forgets"] and made["avg-slack"]["empty"] is None
    assert "| typos | cjga |" in (tmp_path / "c.md").read_text() and "toprule" in (tmp_path / "c.tex").read_text()


def test_runs_are_compared_with_runs_only(runs: dict[str, Run], tmp_path: Path) -> None:
    (tmp_path / "file.json").write_text("{}")
    with pytest.raises(DstressError, match="gold is a run"):
        compare([runs["gold"].path, tmp_path / "file.json"])
    with pytest.raises(DstressError, match="has its own gold"):
        compare([runs["gold"], runs["empty"]], "reminder:test")
    with pytest.raises(DstressError, match="nothing that ood-f1 could be of: empty: ood-f1 cannot be computed"):
        compare([runs["gold"], runs["empty"]], metrics=["ood-f1"], options=FEW)


WAYS: dict[str, Callable[[RunFolder, RunFolder], object]] = {
    "gate": lambda new, old: gate(new, old, limits("jga")),
    "compare": lambda new, old: compare([new, old], options=FEW),
    "curves": lambda new, old: make_curves([old, new]),
}


def refused(way: str, new: RunFolder, old: RunFolder) -> str:
    """The message, which names both runs."""
    with pytest.raises(DstressError) as error:
        WAYS[way](new, old)
    assert str(new.path) in str(error.value) and str(old.path) in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("written", "other", "difference"),
    [
        ("seed = 1", "seed = 2", "the seed, 1 and 2"),
        ("limit = 0", "limit = 5", "the limit, none and 5"),
        ("limit = 0", "limit = 0\ndraw = 5", "the draw, none and 5"),
    ],
)
def test_other_settings_are_refused(
    runs: dict[str, Run], copied: Run, way: str, written: str, other: str, difference: str
) -> None:
    manifest = copied.path / "run.toml"
    manifest.write_text(manifest.read_text().replace(written, other, 1))
    assert difference in refused(way, runs["gold"], Run.open(copied.path))


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_other_stressors_and_other_data_are_refused(runs: dict[str, Run], tmp_path: Path, way: str) -> None:
    stronger = evaluated(tmp_path, "gold", "stronger", SUITE.replace("typos", "typos(rate=0.3)"))
    told = refused(way, runs["gold"], stronger)
    assert "the stressors, typos, entities+typos, typos(rate=0.5) and typos(rate=0.3), entities+typos(rate=0.3)" in told
    (tmp_path / "fewer.toml").write_text(GROUPED)
    fewer = evaluate(str(tmp_path / "fewer.toml"), "gold", sample("reminder", None, 3), tmp_path / "fewer", QUICK)
    assert "the data of original, typos, entities+typos, typos(rate=0.5), although both" in refused(
        way, runs["gold"], fewer
    )


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_another_convention_is_refused_until_it_is_rescored(runs: dict[str, Run], copied: Run, way: str) -> None:
    rescore(copied, "dstc8", resamples=20)
    told = refused(way, runs["gold"], Run.open(copied.path))
    assert "the convention, exact and dstc8" in told and f"`dstress rescore {copied.path} --convention exact`" in told
    rescore(Run.open(copied.path), "exact", resamples=20)
    WAYS[way](runs["gold"], Run.open(copied.path))


@pytest.mark.slow
def test_a_convention_for_all_runs_needs_no_rescoring(runs: dict[str, Run], copied: Run) -> None:
    rescore(copied, "dstc8", resamples=20)
    made = compare([runs["gold"], copied], convention="trade", options=FEW)
    assert made.signature["conv"] == "trade"


@pytest.mark.slow
def test_rescoring_reaches_the_page_the_gate_and_the_next_rescoring(runs: dict[str, Run], copied: Run) -> None:
    before = copied.scores.variants[ORIGINAL]["jga"].value
    rescore(copied, "dstc8", ("jga", "ood-f1"), resamples=20)
    again = Run.open(copied.path)
    after = again.scores.variants[ORIGINAL]["jga"].value
    assert after != before and gate(again, again, limits("jga")).checks[ORIGINAL].new == after
    assert "compared under the convention <code>dstc8</code>" in (copied.path / REPORT).read_text("utf-8")
    assert again.scores.notes == ["ood-f1 cannot be computed: the predictions do not say what is out of domain"]
    rescore(again, resamples=20)
    kept = Run.open(copied.path).scores
    assert kept.convention == "dstc8" and set(kept.variants[ORIGINAL].metrics) == {"jga"} and kept.notes
