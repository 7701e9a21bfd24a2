"""`dstress counterfactual`: one turn on the desk, with candidates and verdicts."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from dstress.cli.counterfactual import command
from dstress.errors import DstressError
from tests.stressors.generators.training import training

SPEC = 'counterfactual(values=built, train="{}")'.format(training("reminder", None, 200))


def called(*arguments: str) -> Result:
    result = CliRunner().invoke(command, ["reminder:test", "--with", SPEC, *arguments])
    if isinstance(result.exception, DstressError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.slow
def test_a_turn_is_shown_with_goal_candidates_and_verdicts() -> None:
    report = json.loads(called("--dialogue", "reminder-test-0000", "--turn", "0", "--json").output)
    assert report["user"] == "I want to take a journey from Brindleford to Hartlebridge for four."
    assert report["goal"]["said"] != report["own"]["said"]
    assert report["candidates"] and any(not candidate["rejected"] for candidate in report["candidates"])
    assert all(bool(candidate["rejected"]) == bool(candidate["why"]) for candidate in report["candidates"])
    shown = called("--dialogue", "reminder-test-0000", "--turn", "0").output
    # Longer ones go on in the next line.
    short = [candidate["text"] for candidate in report["candidates"] if len(candidate["text"]) < 80]
    assert short and all(text in shown for text in short)


def test_a_goal_of_ones_own() -> None:
    report = json.loads(called("--goal", "trips-origin=Elmsgate, trips-tickets=5", "--json").output)
    assert report["goal"]["said"] == {"trips-origin": "Elmsgate", "trips-tickets": "5"}
    passing = [candidate["text"] for candidate in report["candidates"] if not candidate["rejected"]]
    assert passing and all("Elmsgate" in text and "5" in text for text in passing)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--dialogue", "reminder-test-9999"), "unknown dialogue 'reminder-test-9999'"),
        (("--dialogue", "reminder-test-0000", "--turn", "99"), "has 8 user turns|has \\d+ user turns"),
        (("--goal", "trips-origin"), "'trips-origin' is no slot with a value"),
        (("--goal", "trips-orign=Elmsgate"), "did you mean 'trips-origin'"),
        (("--with", "typos"), "makes no counterfactual goals"),
    ],
)
def test_mistakes_are_told(arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(DstressError, match=words):
        called(*arguments)
