"""`dstress shrink` as a person uses it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from dstress.cli.main import cli
from dstress.errors import DstressError
from dstress.pipeline.estimate import require_budget
from dstress.trackers import create
from tests.cli.tiny import TINY
from tests.parts import need


def invoke(*told: str) -> str:
    answer = CliRunner().invoke(cli, ["shrink", *told], catch_exceptions=False, standalone_mode=False)
    return answer.stdout


def make_run(out: Path, tracker: str, *stressors: str, limit: int = 10) -> str:
    suite = out.with_suffix(".toml")
    named = ", ".join(f'"{spec}"' for spec in stressors)
    suite.write_text(f'title = "s"\nstressors = [{named}]\n', encoding="utf-8")
    told = ["run", str(suite), "--tracker", tracker, "--corpus", "reminder:test", "--limit", str(limit)]
    CliRunner().invoke(cli, [*told, "--out", str(out)], catch_exceptions=False, standalone_mode=False)
    return str(out)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_run(tmp_path_factory.mktemp("shrink") / "run", "rules", "typos", "disfluency")


@pytest.mark.slow
def test_an_example_by_its_id(run: str) -> None:
    listed = json.loads(invoke(run, "--list", "--json"))
    assert listed[0]["id"] == f"{listed[0]['stressor']}/{listed[0]['dialogue']}/{listed[0]['turn']}"
    assert all(one["id"] in invoke(run, "--list") for one in listed)
    shown = invoke(run, "--example", listed[0]["id"])
    assert listed[0]["id"] in shown and ("[-" in shown or "{+" in shown) and "gold" in shown
    assert "1 to an edit of which no part can be left out" in shown


def test_the_example_of_the_help_is_there(run: str) -> None:
    named = re.search(r"--example (\S+/\S+)", invoke("--help"))
    assert named and named[1] in [one["id"] for one in json.loads(invoke(run, "--list", "--json"))]


def test_all_examples_with_a_summary_a_page_and_json(run: str, tmp_path: Path) -> None:
    page, data = tmp_path / "shrunk.html", tmp_path / "shrunk.json"
    shown = invoke(run, "--all", "--html", str(page))
    assert "which edits break rules" in shown and "which slots are then wrong" in shown
    assert invoke(run, "--all", "--json", str(data)) == ""
    written = json.loads(data.read_text())
    assert written["failures"] == len(written["examples"]) == len(json.loads(invoke(run, "--list", "--json")))
    assert all(example["id"] in page.read_text() for example in written["examples"])
    assert len(json.loads(invoke(run, "--all", "--limit", "2", "--json"))["examples"]) == 2


@pytest.mark.slow
def test_a_budget_that_ends_is_said(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", "rules", "verbosity(additions=4)", limit=16)
    assert "not finished when the budget ended" in invoke(run, "--all", "--budget", "4")


def test_wrong_calls_are_told(run: str) -> None:
    from click import UsageError

    for told in ([], ["--all", "--list"]):
        with pytest.raises(UsageError, match="one of --example ID, --all and --list"):
            invoke(run, *told)
    with pytest.raises(UsageError, match="--list shrinks none"):
        invoke(run, "--list", "--html", f"{run}.html")
    with pytest.raises(DstressError, match="there is no run"):
        invoke(f"{run}-nowhere", "--list")
    with pytest.raises(DstressError, match="no turn that is right"):
        invoke(run, "--example", "typos/nowhere/1")
    priced = create("rules")
    priced.priced = True
    with pytest.raises(DstressError, match="cost money"):
        require_budget(priced, None, 10)
    assert require_budget(priced, 7, 10) == 7 and require_budget(create("rules"), None, 10) == 10


@pytest.mark.slow
@pytest.mark.parametrize("family", TINY)
def test_trackers_that_learned_are_shrunk_too(family: str, tmp_path: Path) -> None:
    need("torch", "models")
    from tests.cli.tiny import train_tiny

    run = make_run(tmp_path / "run", train_tiny(family, tmp_path / family), "typos(rate=0.4)", limit=8)
    shrunk = json.loads(invoke(run, "--all", "--limit", "4", "--json"))
    assert all(example["status"] == "minimal" for example in shrunk["examples"])
    assert shrunk["tracker"].startswith(family) and len(shrunk["examples"]) == min(4, shrunk["failures"])


def test_a_value_with_script_in_it_is_text_on_the_page(tmp_path: Path) -> None:
    from dstress.reports.small_page import Example, Part, SmallPage

    evil = "<script>alert(1)</script>"
    example = Example(evil, evil, [(evil, [Part("new", evil)], evil)], [evil])
    SmallPage(evil, [evil], examples=[example]).write(tmp_path / "page.html")
    assert "<script" not in (tmp_path / "page.html").read_text()
