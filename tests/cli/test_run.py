"""`dstress run`, `rescore` and `gate` as a person uses them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from dstress.cli.main import cli, main
from dstress.runs import suites
from dstress.runs.scores import check_suite


def run(*arguments: str, code: int = 0) -> str:
    answer = CliRunner().invoke(cli, list(arguments), catch_exceptions=False, standalone_mode=False)
    assert (answer.return_value or 0) == code, answer.output
    return answer.stdout


def first_run(out: Path, tracker: str = "gold", *more: str) -> str:
    return run(
        "run", "quick", "--tracker", tracker, "--corpus", "reminder:test", "--limit", "16", "--only", "typos",
        "--out", str(out), *more,
    )  # fmt: skip


def test_a_run_ends_with_its_tables(tmp_path: Path) -> None:
    shown = first_run(tmp_path / "run")
    assert "Quick look: gold on reminder:test" in shown and "100.00" in shown and "p (Holm)" in shown
    again = run("run", "--resume", "--out", str(tmp_path / "run"))
    assert again == shown


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["quick", "sgd-x"])
def test_a_tracker_that_answers_nothing_does_not_look_robust(suite: str, tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    only = ["--only", "typos,entities"] if suite == "quick" else []
    shown = run("run", suite, "--tracker", "empty", "--corpus", "reminder:test", "--limit", "14", "--out", out, *only)
    assert re.search(r"always wrong +100\.00 +\[7\d\.\d\d, 100\.00\] +\d+", shown)
    assert re.search(
        r"(?m)^original +0\.00 +\[0\.00, 23\.16\] +\d+$|^JGA original +0\.00 +\[0\.00, 23\.16\] +\d+$", shown
    )
    assert re.search(r"(?m)^entities cJGA +- +- +0$|^SS \(JGA\) +0\.00 +- +\d+$", shown)
    # Nothing falls below 0: the interval only says how much may have been gained.
    unchanged = r"0\.00 +\+0\.00 +\[\+0\.00, \+23\.16\] +1\.0000 +14 +0, too few\n"
    assert len(re.findall(unchanged, shown)) == (2 if only else 5)
    told = run("report", out)
    assert "No change is significant, but only 0.0 % of the original turns are right" in told
    assert "no harm" not in told and re.search(r"\d undecided", (tmp_path / "run" / "report.html").read_text())


def test_json_is_what_is_written(tmp_path: Path) -> None:
    told = json.loads(first_run(tmp_path / "run", "empty", "--json"))
    assert told == json.loads((tmp_path / "run" / "scores.json").read_text())
    assert set(told["variants"]) == {"original", "typos"} and told["drops"]["typos"]["stressed"] == 0.0


@pytest.mark.slow
def test_rescoring_and_the_gate(tmp_path: Path) -> None:
    first_run(tmp_path / "old")
    first_run(tmp_path / "new", "empty")
    for name in ("old", "new"):
        assert "conv:trade" in run("rescore", str(tmp_path / name), "--convention", "trade", "--json")
    assert "passed" in run("gate", str(tmp_path / "old"), "--against", str(tmp_path / "new"))
    failed = run("gate", str(tmp_path / "new"), "--against", str(tmp_path / "old"), code=1)
    assert "FAILED" in failed
    assert re.search(r"(?m)^failed\nnot ruled out by these data: a drop of up to \d+\.\d points \(original\)$", failed)


@pytest.mark.slow
def test_without_resamples_only_bootstrap_intervals_are_unknown(tmp_path: Path) -> None:
    suite, out = tmp_path / "own.toml", str(tmp_path / "run")
    group = '[[across]]\nname = "both"\nstressors = ["typos", "entities"]\n'
    suite.write_text(f'title = "own"\nmetrics = ["jga"]\n{group}')
    arguments = ("--tracker", "rules", "--corpus", "reminder:test", "--limit", "16", "--out", out, "--json")
    before = json.loads(run("run", str(suite), *arguments))
    after = json.loads(run("rescore", out, "--resamples", "0", "--json"))
    for name, score in before["across"]["both"].items():
        again = after["across"]["both"][name]
        assert again["value"] == score["value"] and None not in (score["low"], score["high"])
        if name.startswith(("ss(", "diff-rel")):
            assert again["low"] is again["high"] is None and "|ci:bca.0|" in again["signature"]
        else:
            assert again == score and "|ci:logit|" in again["signature"]
    assert {"ss(jga)", "diff-rel", "jga-v1-5"} <= before["across"]["both"].keys()
    assert after["variants"] == before["variants"]
    assert after["drops"] == before["drops"] and before["drops"]["typos"]["p"] is not None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run"], "SUITE is missing"),
        (["run", "quick", "--corpus", "reminder:test"], "--tracker is missing"),
        (["run", "qick", "--tracker", "gold", "--corpus", "reminder:test"], "did you mean 'quick'"),
        (["run", "quick", "--tracker", "glod", "--corpus", "reminder:test"], "did you mean 'gold'"),
        (
            ["run", "quick", "--tracker", "gold", "--corpus", "reminder:test", "--only", "speech"],
            "unknown stressor of the suite 'speech'",
        ),
        (["run", "quick", "--tracker", "saved(path=no.json)", "--corpus", "reminder:test"], "there is no such file"),
        (["run", "--resume"], "give its folder with --out"),
        (["run", "--resume", "--out", "nowhere"], "there is no run"),
    ],
)
def test_mistakes_get_one_message(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(arguments)
    told = capsys.readouterr().err
    assert left.value.code == 2 and words in told and "Traceback" not in told


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (
            'variant = "typos"\nmetric = "jgaa"',
            "[[table]] 'typing': unknown metric of the suite 'jgaa'; did you mean 'jga'",
        ),
        ('variant = "typos"\nmetric = "aga"', "name under `metrics` what is computed"),
        ('variant = "typos"\nmetric = "cjga(ovr=all)"', "unknown argument of cjga 'ovr'; did you mean 'over'"),
        (
            'variant = "both"\nmetric = "ss(jgaa)"',
            "unknown metric of several variants 'ss(jgaa)'; did you mean 'ss(jga)'",
        ),
    ],
)
def test_a_cell_with_an_unknown_metric_fails_before_any_tracking(
    tmp_path: Path, cell: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = tmp_path / "own.toml"
    group = '[[across]]\nname = "both"\nstressors = ["typos", "entities"]\n'
    suite.write_text(f'title = "own"\nmetrics = ["jga"]\n{group}[[table]]\ncolumn = "typing"\n{cell}\n')
    with pytest.raises(SystemExit) as left:
        main(["run", str(suite), "--tracker", "gold", "--corpus", "reminder:test", "--out", str(tmp_path / "run")])
    assert left.value.code == 2 and words in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("suite", list(suites.names()))
def test_the_metrics_of_every_suite_can_be_computed(suite: str) -> None:
    check_suite(suites.load(suite), suite)
