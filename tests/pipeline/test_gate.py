from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from dstress.cli.gate import command
from dstress.cli.main import cli
from dstress.engines import Local
from dstress.errors import DstressError
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.gate import Limits, gate
from dstress.pipeline.run import RunOptions
from dstress.runs.folder import RunFolder
from tests.fakes.trackers import SUITE
from tests.stressors.samples import sample

REMINDER = sample("reminder", None, 24)
STANDARD = Limits()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunFolder]:
    folder = tmp_path_factory.mktemp("gate")
    (folder / "small.toml").write_text(SUITE)
    specs = {"gold": "gold", "forgets": "tests.fakes.trackers:Logged", "empty": "empty"}
    return {
        name: evaluate(
            str(folder / "small.toml"), spec, REMINDER, folder / name, RunOptions(resamples=20, report=False), Local()
        )
        for name, spec in specs.items()
    }


@pytest.mark.slow
def test_pairs_of_a_run_are_those_that_its_stressors_changed(runs: dict[str, RunFolder]) -> None:
    scores = runs["forgets"].scores
    for variant, metrics in scores.paired.items():
        changed = runs["forgets"].variant(variant).quality["quality"]["changed"]
        assert metrics["consistent-jga"].n == changed < int(scores.variants[variant].signature["turns"])


def test_as_good_as_the_last_passes(runs: dict[str, RunFolder]) -> None:
    verdict = gate(runs["forgets"], runs["forgets"], STANDARD)
    assert verdict.passed and all(check.difference == 0 and check.p == 1 for check in verdict.checks.values())
    assert gate(runs["gold"], runs["forgets"], STANDARD).passed


def test_worse_fails(runs: dict[str, RunFolder]) -> None:
    verdict = gate(runs["forgets"], runs["gold"], STANDARD)
    assert not verdict.passed and set(verdict.checks) == {"original", "typos", "entities+typos"}
    for check in verdict.checks.values():
        assert check.difference < -0.01 and check.p <= check.p_holm <= 0.05 and not check.passed
        assert check.low <= check.difference <= check.high < 0


def test_what_passes_says_the_largest_drop_that_is_not_ruled_out(runs: dict[str, RunFolder]) -> None:
    """Twenty-four dialogues without a difference do not show that there is none."""
    verdict = gate(runs["forgets"], runs["forgets"], STANDARD)
    assert verdict.passed and all(0.01 < check.largest_drop == -check.low for check in verdict.checks.values())
    variant, most = verdict.largest_drop
    assert most == max(check.largest_drop for check in verdict.checks.values()) == verdict.checks[variant].largest_drop
    assert not gate(runs["forgets"], runs["forgets"], Limits(non_inferior=most)).passed
    assert gate(runs["forgets"], runs["forgets"], Limits(non_inferior=most + 0.001)).passed
    better = gate(runs["gold"], runs["empty"], Limits(non_inferior=0.001))
    assert better.passed and better.largest_drop[1] == 0
    worse = gate(runs["empty"], runs["gold"], Limits(metric="jga", non_inferior=0.5))
    assert not worse.passed


def test_the_console_says_what_is_not_ruled_out(runs: dict[str, RunFolder]) -> None:
    arguments = [str(runs["forgets"].path), "--against", str(runs["forgets"].path)]
    passed = CliRunner().invoke(command, arguments, standalone_mode=False)
    assert passed.return_value == 0 and "not ruled out by these data: a drop of up to" in passed.output
    failed = CliRunner().invoke(command, [*arguments, "--non-inferior", "1"], standalone_mode=False)
    assert failed.return_value == 1 and "or where a drop of 1 point is not ruled out" in failed.output
    assert CliRunner().invoke(command, [*arguments, "--non-inferior", "90"], standalone_mode=False).return_value == 0


def test_a_drop_that_is_allowed_passes(runs: dict[str, RunFolder]) -> None:
    assert gate(runs["empty"], runs["gold"], Limits(max_drop=1.0)).passed
    assert not gate(runs["empty"], runs["gold"], Limits(max_drop=0.5)).passed


def test_runs_over_other_data_are_refused(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SUITE)
    other = evaluate(
        str(tmp_path / "small.toml"), "gold", sample("reminder", None, 3), tmp_path / "other", RunOptions(report=False)
    )
    with pytest.raises(DstressError, match="they differ in the data of original"):
        gate(other, runs["gold"], STANDARD)


def test_stressors_of_one_run_only_are_named(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SUITE)
    options = RunOptions(resamples=20, report=False, only=("typos",))
    part = evaluate(str(tmp_path / "small.toml"), "gold", REMINDER, tmp_path / "part", options)
    verdict = gate(part, runs["gold"], STANDARD)
    assert set(verdict.checks) == {"original", "typos"} and verdict.left_out == ["entities+typos"]


@pytest.mark.slow
def test_less_is_better_where_the_metric_says_so(runs: dict[str, RunFolder]) -> None:
    limits = Limits(max_drop=0.1, metric="tests.fakes.metrics:WrongSlots")
    worse, better = gate(runs["empty"], runs["gold"], limits), gate(runs["gold"], runs["empty"], limits)
    assert not worse.passed and better.passed and worse.unit == "slots"
    assert all(check.old == 0 and check.difference > 1 for check in worse.checks.values())


@pytest.mark.slow
def test_the_console_shows_a_metric_in_its_own_unit(runs: dict[str, RunFolder]) -> None:
    arguments = [str(runs["empty"].path), "--against", str(runs["gold"].path)]
    shown = CliRunner().invoke(command, [*arguments, "--metric", "tests.fakes.metrics:WrongSlots"]).output
    mean = gate(runs["empty"], runs["gold"], Limits(metric="tests.fakes.metrics:WrongSlots")).checks["original"].new
    assert f"{mean:.2f}" in shown and f"{100 * mean:.2f}" not in shown and "worse by over 1 slots" in shown


@pytest.mark.parametrize(("metric", "fails"), [("cjga", "forgets"), ("newly-wrong", "forgets")])
def test_metrics_of_pairs_are_known(runs: dict[str, RunFolder], metric: str, fails: str) -> None:
    limits = Limits(metric=metric)
    verdict = gate(runs[fails], runs["gold"], limits)
    assert set(verdict.checks) == {"typos", "entities+typos"}
    for variant, check in verdict.checks.items():
        assert check.new == runs[fails].scores.paired[variant][metric].value
        assert check.old == runs["gold"].scores.paired[variant][metric].value == (1.0 if metric == "cjga" else 0.0)
    assert gate(runs["gold"], runs[fails], limits).passed


def test_a_metric_that_the_runs_cannot_have_is_refused(runs: dict[str, RunFolder]) -> None:
    with pytest.raises(DstressError, match=r"nothing that ss\(jga\) could be of"):
        gate(runs["gold"], runs["gold"], Limits(metric="ss(jga)"))


@pytest.mark.parametrize(
    "verb", [["gate", "nowhere", "--against", "."], ["gate", ".", "--against", "nowhere"], ["rescore", "nowhere"]]
)
def test_a_folder_that_is_not_there_is_no_run(verb: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In our words, as every other command says it, and not in those of the parser of the command line."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DstressError, match="there is no run"):
        CliRunner().invoke(cli, verb, catch_exceptions=False, standalone_mode=False)
