"""`dstress score` as a person meets it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from dstress import corpora
from dstress.cli.main import cli, main
from dstress.conventions import conventions
from dstress.predictions import Prediction, write_predictions
from tests.fakes.predictions import perfect

GOLDEN = {
    "sgd/preds_a": ("sgd/ref", {"jga": 0.9252511170688115, "aga": 0.976433710088943}),
    "sgd/preds_c": ("sgd/ref", {"active-intent-accuracy": 0.8395889186773905}),
    "gca/data/poc/NU1.json": ("", {"gca": 0.5238095238095237}),
    "checkdst/data/orig_example.checkdst_prediction.jsonl": ("", {"jga": 0.36}),
    "checkdst/data/example_parlai_world_logs.jsonl": ("", {"jga": 36 / 99}),
    "fga/trippy_result.json": ("", {"jga": 0.5330982094411286}),
}


def run(*arguments: str) -> str:
    answer = CliRunner().invoke(cli, ["score", *arguments], catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    return answer.output


@pytest.fixture
def predictions(tmp_path: Path) -> str:
    """A perfect tracker's file on the embedded corpus."""
    corpora.ensure_embedded()
    write_predictions(perfect(corpora.load("reminder:dev")), tmp_path / "perfect.jsonl")
    return str(tmp_path / "perfect.jsonl")


def test_json_has_the_promised_shape(predictions: str) -> None:
    card = json.loads(run(predictions, "--gold", "reminder:dev", "--by", "service,slot", "--json"))
    jga = card["metrics"]["jga"]
    assert (jga["value"], jga["high"]) == (1.0, 1.0) and 0.97 < jga["low"] < 0.98  # 150 dialogues
    assert jga["signature"].startswith("jga|corpus:reminder.dev|turns:1303|conv:exact|unit:turn|")
    assert card["signature"]["corpus"] == "reminder.dev"
    assert card["slices"]["service"]["taxi"]["jga"] == 1.0 and "taxi-day" in card["slices"]["slot"]
    gold = [turn.state for dialogue in corpora.load("reminder:dev") for turn in dialogue.turns]
    taxis = sum(any(slot.startswith("taxi-") for slot in state) for state in gold)
    assert card["slices"]["service"]["taxi"]["units"] == taxis
    assert card["slices"]["slot"]["taxi-day"]["units"] == sum("taxi-day" in state for state in gold)
    shown = run(predictions, "--gold", "reminder:dev", "--by", "service")
    assert re.search(rf"^service +units +jga.*(\n.*)*\ntaxi +{taxis} +100\.00", shown, re.MULTILINE)


def test_the_console_shows_percentages_intervals_and_the_signature(predictions: str) -> None:
    shown = run(predictions, "--gold", "reminder:dev")
    assert "[97.57, 100.00]" in shown and "corpus:reminder.dev" in shown and "most frequent confusion" in shown


def test_nothing_is_put_beside_what_is_no_file(predictions: str, tmp_path: Path) -> None:
    (tmp_path / "null").symlink_to("/dev/null")
    before = set(tmp_path.iterdir())
    run(predictions, "--gold", "reminder:dev", "--csv", str(tmp_path / "null"))
    assert set(tmp_path.iterdir()) == before


def test_all_conventions_side_by_side(predictions: str) -> None:
    shown = run(predictions, "--gold", "reminder:dev", "--conventions", "all", "--metrics", "jga,fga(lambda=0.25)")
    assert (
        all(name in shown for name in conventions if not conventions.get(name).about_calls)
        and "fga(lambda=0.25)" in shown
    )
    frames = sum(len(turn.frames) for dialogue in corpora.load("reminder:dev") for turn in dialogue.turns)
    assert re.search(r"^exact +1,303 turns +100\.00", shown, re.MULTILINE)
    assert re.search(rf"^dstc8 +{frames:,} frames +100\.00", shown, re.MULTILINE)


@pytest.mark.slow
def test_a_metric_in_slots_is_never_shown_in_percent(tmp_path: Path) -> None:
    """Two slots are missed in each of two turns: 2 slots, and not 200 %, in every table."""
    gold = {"hotel-area": ("north",), "hotel-name": ("a",)}
    write_predictions([Prediction("d", turn, {}, gold=gold) for turn in (0, 1)], tmp_path / "none.json", "trade")
    metrics = [str(tmp_path / "none.json"), "--metrics", "tests.fakes.metrics:WrongSlots"]
    for more in ([], ["--conventions", "exact,trade"], ["--by", "domain"], ["--markdown", "-"], ["--latex", "-"]):
        shown = run(*metrics, *more)
        assert "2.00 slots" in shown and "200.00" not in shown, more
    assert re.search(r"^hotel +2 +2\.00 slots", run(*metrics, "--by", "domain"), re.MULTILINE)


def test_metrics_that_cannot_be_computed_are_named(tmp_path: Path) -> None:
    gold = {"hotel-area": ("north",)}
    write_predictions([Prediction("d", 0, {}, gold=gold)], tmp_path / "none.json", "trade")
    shown = run(str(tmp_path / "none.json"), "--metrics", "all")
    assert "note: ood-f1 cannot be computed: the predictions do not say what is out of domain" in shown
    assert "cannot be computed" not in run(str(tmp_path / "none.json"))


@pytest.mark.parametrize(("option", "expected"), [("--markdown", "| jga | 100.00 |"), ("--latex", "jga & 100.00 &")])
def test_tables_for_papers(option: str, expected: str, predictions: str, tmp_path: Path) -> None:
    run(predictions, "--gold", "reminder:dev", option, str(tmp_path / "table"))
    assert expected in (tmp_path / "table").read_text()
    assert expected in run(predictions, "--gold", "reminder:dev", option, "-")


def test_the_seed_is_in_the_signature_and_moves_only_the_interval(predictions: str) -> None:
    cards = [json.loads(run(predictions, "--gold", "reminder:dev", "--seed", seed, "--json")) for seed in ("1", "2")]
    assert [card["signature"]["seed"] for card in cards] == ["1", "2"]
    assert cards[0]["metrics"]["gca"]["value"] == cards[1]["metrics"]["gca"]["value"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--gold", "reminder:test"], "reminder:dev"),
        (["--gold", "reminder:dev", "--metrics", "ood-f1"], "out of domain"),
        (["--gold", "reminder:dev", "--metrics", "jgaa"], "'jga'"),
        (["--gold", "reminder:dev", "--convention", "traed"], "'trade'"),
        (["--gold", "reminder:dev", "--by", "weather"], "service"),
        (["--gold", "reminder:dev", "--format", "trade"], "perfect.jsonl"),
        ([], "carries no gold"),
    ],
)
def test_mistakes_are_told(
    arguments: list[str], words: str, predictions: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["score", predictions, *arguments])
    said = capsys.readouterr().err
    assert stop.value.code == 2 and words in said and "Traceback" not in said


def test_a_partial_file_is_scored_only_on_request(predictions: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(predictions)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-5]))
    with pytest.raises(SystemExit):
        main(["score", predictions, "--gold", "reminder:dev"])
    assert "5 missing turns" in capsys.readouterr().err
    card = json.loads(run(predictions, "--gold", "reminder:dev", "--allow-partial", "--json"))
    assert card["signature"]["coverage"] == "1298/1303"


@pytest.mark.parametrize("file", GOLDEN)
def test_golden_files_with_no_option_but_gold(file: str, shared: Path) -> None:
    gold, expected = GOLDEN[file]
    options = ["--gold", str(shared / "golden" / gold)] if gold else []
    card = json.loads(run(str(shared / "golden" / file), *options, "--json"))
    assert {name: card["metrics"][name]["value"] for name in expected} == pytest.approx(expected, abs=1e-9)
