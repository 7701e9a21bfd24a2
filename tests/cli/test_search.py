"""`dstress search` as a person uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from dstress.cli.main import cli
from dstress.errors import DstressError
from tests.cli.tiny import TINY
from tests.parts import need

SMALL = ("--corpus", "reminder:test", "--limit", "10", "--with", "typos,typos(rate=0.3),disfluency,simplification")


def invoke(*told: str) -> str:
    answer = CliRunner().invoke(cli, ["search", *told], catch_exceptions=False, standalone_mode=False)
    return answer.stdout


@pytest.mark.slow
def test_a_search_ends_with_its_frontier(tmp_path: Path) -> None:
    plot = tmp_path / "frontier.svg"
    told = ("--tracker", "rules", *SMALL, "--budget", "300")
    shown = invoke(*told, "--plot", str(plot))
    assert "held-out dialogues" in shown and " *" in shown and "did not choose it" in shown
    assert plot.read_text().startswith("<svg")
    found = json.loads(invoke(*told, "--json"))
    assert found == json.loads(invoke(*told, "--json")), "the same seed finds the same"
    assert found["asked_to_choose"] + found["asked_to_report"] <= 300
    assert found["winner"]["spec"] in shown and found["winner"] in found["frontier"]
    assert json.loads(invoke(*told, "--method", "random", "--json"))["method"] == "random"
    assert invoke(*told, "--csv", "-").startswith("spec,dialogues,turns,edited,accuracy")


def test_a_wrong_name_for_the_plot_is_told_before_the_search(tmp_path: Path) -> None:
    with pytest.raises(DstressError, match=r"\.svg or \.html"):
        invoke("--tracker", "rules", *SMALL, "--plot", str(tmp_path / "frontier.pdf"))


@pytest.mark.slow
@pytest.mark.parametrize("family", TINY)
def test_trackers_that_learned_are_searched_too(family: str, tmp_path: Path) -> None:
    need("torch", "models")
    from tests.cli.tiny import train_tiny

    tracker = train_tiny(family, tmp_path / family)
    found = json.loads(invoke("--tracker", tracker, *SMALL, "--budget", "300", "--json"))
    assert found["tracker"].startswith(family) and found["winner"]["dialogues"] > 0


def test_a_tracker_that_nothing_breaks_is_not_said_to_break() -> None:
    shown = invoke("--tracker", "gold", *SMALL, "--budget", "300")
    assert "Nothing was found that breaks gold" in shown and "breaks gold most" not in shown


def test_one_candidate_is_no_candidates() -> None:
    shown = invoke(
        "--tracker", "rules", "--corpus", "reminder:test", "--limit", "10", "--with", "typos", "--budget", "100"
    )
    assert "1 candidate was tried" in shown
