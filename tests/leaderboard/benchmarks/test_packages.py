"""Benchmarks without web: what is public tells no gold, and a submission's numbers are those of a run."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import dstress
from dstress.dialogue import Dialogue
from dstress.errors import ArchiveError, DstressError, PredictionError
from dstress.leaderboard.benchmarks.answers import MOST_UNPACKED, Answers, read_answers, take_fingerprint
from dstress.leaderboard.benchmarks.inputs import WHOLE
from dstress.leaderboard.benchmarks.package import Package
from dstress.leaderboard.benchmarks.ranking import Entry, rank
from dstress.leaderboard.benchmarks.results import (
    Result,
    Scored,
    Statistics,
    hide_seed,
    pack,
    score_answers,
    unpack,
    views_of,
)
from dstress.predictions import read_predictions, write_predictions
from dstress.runs.suites.base import ORIGINAL
from dstress.scoring.open_pair import PredictionSource
from dstress.scoring.score import tally_predictions
from tests.leaderboard.benchmarks.packages import answer, make_package


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    return make_package(tmp_path_factory.mktemp("benchmark") / "b", conventions=("exact", "trade"))


@pytest.fixture(scope="module")
def rules(package: Package, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return answer(package, "rules", tmp_path_factory.mktemp("answers") / "rules")


@pytest.fixture(scope="module")
def empty(package: Package, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return answer(package, "empty", tmp_path_factory.mktemp("answers") / "empty")


@pytest.fixture(scope="module")
def scored(package: Package, rules: Path, empty: Path) -> dict[str, Scored]:
    files = {"rules": rules, "empty": empty}
    return {name: score_answers(package, read_answers(package, file)) for name, file in files.items()}


@pytest.mark.slow
@pytest.mark.parametrize("stressors", [("typos", "entities"), ("schema_noise", "entities+typos"), ("out_of_domain",)])
def test_numbers_of_a_submission_are_those_of_a_run(tmp_path: Path, stressors: tuple[str, ...]) -> None:
    package = make_package(tmp_path / "b", stressors)
    handed_in = read_answers(package, answer(package, "rules", tmp_path / "rules"))
    ours = score_answers(package, handed_in).results["exact"].scores
    corpus = dstress.load("reminder:test", limit=4)
    run = dstress.evaluate(package.suite, "rules", corpus, tmp_path / "run", report=False, convention="exact")
    theirs = hide_seed(Result(run.scores, {})).scores
    for variant in run.variants:
        assert ours.variants[variant].metrics["jga"] == theirs.variants[variant].metrics["jga"]
        assert ours.variants[variant].slices == theirs.variants[variant].slices
    assert _plain(ours.table) == _plain(theirs.table)
    assert 0 < theirs.variants[ORIGINAL].metrics["jga"].value < 1


def _plain(kept: object) -> Any:
    """As JSON has it, where "not a number" is equal to itself."""
    return msgspec.json.decode(msgspec.json.encode(kept))


def test_inputs_are_words_alone_in_every_layout(package: Package) -> None:
    assert set(package.archives) == {"dstress", "sgd", "unified"}  # not MultiWOZ's, whose slots these are not
    cases = {case.id: case for case in package.key.cases}
    gold = {(variant, d.id): d for variant in package.gold.variants for d in package.gold.variant(variant).dialogues()}
    for path in package.archives.values():
        read = list(dstress.load(f"{path}:test"))
        assert {dialogue.id for dialogue in read} == cases.keys()
        assert [dialogue.id for dialogue in read] == sorted(cases)
        for dialogue in read:
            case = cases[dialogue.id]
            labelled = gold[case.variant, case.dialogue]
            last = labelled.turns[len(dialogue.turns) - 1]
            assert dialogue.turns[-1].user.casefold() == last.user.casefold()
            assert len(dialogue.turns) == case.turns
            assert _labels(dialogue) == []
            assert dialogue.goal is None or dialogue.goal.inform == {}
            assert dialogue.closing == ""


def _labels(dialogue: Dialogue) -> list[Any]:
    """All that a dialogue holds beside words."""
    found: list[Any] = [*dialogue.closing_frames, *dialogue.services]
    for turn in dialogue.turns:
        found += [*turn.state, *turn.frames, *turn.system_frames, *turn.coreferences, *turn.booked]
        found += [turn.ood] if turn.ood else []
        found += [turn.stress] if turn.stress else []
    return found


def test_archives_name_no_dialogue_of_the_corpus_and_no_stressor(package: Package) -> None:
    private = {case.dialogue for case in package.key.cases} | set(package.gold.variants[1:])
    for path in package.archives.values():
        with zipfile.ZipFile(path) as archive:
            content = b"".join(archive.read(name) for name in archive.namelist())
        assert not [name for name in private if name.encode() in content]


def test_ids_are_other_ones_in_every_benchmark(package: Package, tmp_path: Path) -> None:
    again = make_package(tmp_path / "again")
    ids = [{case.id for case in one.key.cases} for one in (package, again)]
    assert not ids[0] & ids[1]
    words = [sorted(turn.user for d in one.inputs["part1"] for turn in d.turns) for one in (package, again)]
    assert words[0] == words[1]


def test_a_stressed_turn_follows_on_the_words_as_they_were(package: Package) -> None:
    inputs = {dialogue.id: dialogue for dialogue in package.inputs["part1"]}
    public = {(case.variant, case.dialogue, case.turn): case for case in package.key.cases}
    stressed = [case for case in package.key.cases if case.turn > 0]
    assert {case.variant for case in stressed} == {"typos"}
    for case in stressed:
        original = inputs[public[ORIGINAL, case.dialogue, WHOLE].id]
        assert inputs[case.id].turns[:-1] == original.turns[: case.turn]
        assert inputs[case.id].turns[-1].user != original.turns[case.turn].user


def test_services_are_told_where_frames_are_scored(tmp_path: Path) -> None:
    package = make_package(tmp_path / "b", ("typos",), conventions=("dstc8",))
    gold = {dialogue.id: dialogue for dialogue in package.gold.variant(ORIGINAL).dialogues()}
    dialogues = {case.id: gold[case.dialogue] for case in package.key.cases}
    for dialogue in package.inputs["part1"]:
        assert set(dialogue.services) == set(dialogues[dialogue.id].services)
        assert all([frame.service for frame in turn.frames] == list(dialogue.services) for turn in dialogue.turns)
    handed_in = read_answers(package, answer(package, "rules", tmp_path / "rules"))
    assert score_answers(package, handed_in).results["dstc8"].scores.variants["typos"].metrics["jga"].n > 0


def test_only_asked_turns_need_an_answer(package: Package, rules: Path, tmp_path: Path) -> None:
    """The history of a stressed turn may be there or not, and may say anything."""
    whole = read_answers(package, rules)
    asked = {(case.id, turn) for case in package.key.cases for turn in case.asked}
    every = list(read_predictions(rules))
    few = [one for one in every if (one.dialogue, one.turn) in asked]
    other = [one if (one.dialogue, one.turn) in asked else _with_state(one, {"taxi-x": "y"}) for one in every]
    assert len(few) < len(every)
    prints = [take_fingerprint(package, whole)]
    for name, predictions in {"few": few, "other": other}.items():
        write_predictions(predictions, tmp_path / f"{name}.jsonl")
        prints.append(take_fingerprint(package, read_answers(package, tmp_path / f"{name}.jsonl")))
    assert np.array_equal(prints[0], prints[1])
    assert np.array_equal(prints[0], prints[2])


def _with_state(prediction: Any, state: dict[str, str]) -> Any:
    return msgspec.structs.replace(prediction, state=state)


def _without_first(lines: list[str]) -> list[str]:
    first = json.loads(lines[0])["dialogue"]
    return [line for line in lines if json.loads(line)["dialogue"] != first]


def _with_stranger(lines: list[str]) -> list[str]:
    return [*lines, json.dumps(json.loads(lines[0]) | {"dialogue": "stranger"})]


FLAWS: dict[str, Callable[[list[str]], list[str]]] = {
    "missing dialogue": _without_first,
    "stranger": _with_stranger,
    "doubled": lambda lines: [*lines, lines[0]],
    "torn": lambda lines: [*lines[:-1], lines[-1][:20]],
    "no format": lambda lines: ["what is this?"],
    "empty": lambda lines: [],
    "negative turn": lambda lines: [json.dumps(json.loads(lines[0]) | {"turn": -1}), *lines[1:]],
}


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_flawed_file_is_refused_in_the_words_of_score(
    package: Package, empty: Path, tmp_path: Path, flaw: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # `empty` answers every turn, so that what is wrong to `score` is wrong here.
    handed_in = tmp_path / "mine.jsonl"
    every = [
        json.dumps({"dialogue": dialogue.id, "turn": turn, "state": {}})
        for dialogue in package.inputs["part1"]
        for turn in range(len(dialogue.turns))
    ]
    handed_in.write_text("\n".join(FLAWS[flaw](every)) + "\n", encoding="utf-8")
    with pytest.raises(DstressError) as ours:
        read_answers(package, handed_in)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DstressError) as theirs:
        tally_predictions(PredictionSource("mine.jsonl", package.inputs["part1"]), ["exact"], ["sa"])
    assert ours.value.problem == theirs.value.problem.replace("inputs:test", "the public inputs")
    assert ours.value.where == theirs.value.where
    assert str(tmp_path) not in str(ours.value)


def test_what_a_file_claims_of_gold_is_forgotten(package: Package, rules: Path, tmp_path: Path) -> None:
    predictions = list(read_predictions(rules))
    claims = [
        msgspec.structs.replace(
            one, gold={"trip-to": ("x",)}, listed=("trip-to",), informed={"trip-to": 0}, context="x"
        )
        for one in predictions
    ]
    write_predictions(claims, tmp_path / "claims.jsonl")
    plain, claimed = read_answers(package, rules), read_answers(package, tmp_path / "claims.jsonl")
    assert plain.predictions == claimed.predictions


def test_other_formats_and_archives_are_read(package: Package, rules: Path, tmp_path: Path) -> None:
    ours = read_answers(package, rules)
    with zipfile.ZipFile(tmp_path / "mine.zip", "w") as archive:
        archive.write(rules, "folder/answers.jsonl")
    assert _states(read_answers(package, tmp_path / "mine.zip")) == _states(ours)
    for name, file in {"trade": "trade.json", "csv": "mine.csv"}.items():
        write_predictions(read_predictions(rules), tmp_path / file, name)
        read = read_answers(package, tmp_path / file)
        assert read.format == name
        assert _asked_states(package, read) == _asked_states(package, ours)


def _states(answers: Answers) -> dict[str, dict[int, dict[str, str]]]:
    return {name: {turn: one.state for turn, one in turns.items()} for name, turns in answers.predictions.items()}


def _asked_states(package: Package, answers: Answers) -> list[dict[str, str]]:
    return [answers.predictions[case.id][turn].state for case in package.key.cases for turn in case.asked]


@pytest.mark.slow
def test_bombs_and_traversal_are_refused(package: Package, tmp_path: Path) -> None:
    with (
        zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.jsonl", "w", force_zip64=True) as member,
    ):
        for _ in range((MOST_UNPACKED >> 24) + 1):
            member.write(bytes(1 << 24))
    with zipfile.ZipFile(tmp_path / "up.zip", "w") as archive:
        archive.writestr("../../x.jsonl", "{}")
    for name in ("bomb.zip", "up.zip"):
        with pytest.raises(ArchiveError):
            read_answers(package, tmp_path / name)


def test_deeply_nested_json_is_refused(package: Package, tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 1_000_000 + "]" * 1_000_000, encoding="utf-8")
    with pytest.raises(PredictionError):
        read_answers(package, tmp_path / "deep.json")


def test_each_part_needs_its_folder(tmp_path: Path) -> None:
    package = make_package(tmp_path / "b", ("schema_noise",))
    assert package.key.parts == ("part1", "part2")
    with zipfile.ZipFile(tmp_path / "half.zip", "w") as archive:
        path = answer(package, "empty", tmp_path / "empty")
        archive.writestr("part1/answers.jsonl", zipfile.ZipFile(path).read("part1/answers.jsonl"))
    with pytest.raises(PredictionError, match="no folder part2"):
        read_answers(package, tmp_path / "half.zip")


def test_results_hold_no_gold_value_and_no_id_of_the_corpus(package: Package, scored: dict[str, Scored]) -> None:
    results = scored["rules"].results
    assert list(results) == ["exact", "trade"]
    text = msgspec.json.encode(results).decode()
    assert not [case.dialogue for case in package.key.cases if f'"{case.dialogue}' in text]
    assert all(
        not slot.confusions for r in results.values() for c in r.scores.variants.values() for slot in c.slots.values()
    )
    values = {
        value
        for dialogue in package.gold.variant(ORIGINAL).dialogues()
        for turn in dialogue.turns
        for forms in turn.state.values()
        for value in forms
        if len(value) > 4 and value != "dontcare"
    }
    assert values
    assert not [value for value in values if f'"{value}"' in text]
    assert "/seed=private/" in text
    assert not re.search(r"/seed=\d", text)  # with it and the corpus, anybody could stress the corpus alike


def test_results_and_statistics_survive_being_kept(scored: dict[str, Scored]) -> None:
    kept = unpack(pack(scored["rules"].results), dict[str, Result])
    assert _plain(kept) == _plain(scored["rules"].results)
    again = unpack(pack(scored["rules"].statistics), dict[str, Statistics])
    for convention, places in scored["rules"].statistics.items():
        for place, by_metric in places.items():
            for metric, totals in by_metric.items():
                assert np.array_equal(again[convention][place][metric], totals)


def test_a_board_is_in_order_and_marks_what_chance_may_do(package: Package, scored: dict[str, Scored]) -> None:
    entries = [Entry(key, one.results["exact"], one.statistics["exact"]) for key, one in enumerate(scored.values())]
    twin = replace(entries[0], key=7)
    views = views_of(package.suite)
    assert views["suite"].labels == ["Avg.", "Avg.c", "Standard JGA", "Stressed JGA", "always wrong"]
    for name, label in (("suite", "Avg."), ("suite", "Stressed JGA"), ("jga", "Avg.c"), ("slot-f1", "typos")):
        rows = rank((entries[1], twin, entries[0]), views[name], label)
        assert [row.entry.key for row in rows] == [0, 7, 1]
        assert [row.tied for row in rows] == [False, True, rows[2].p > 0.05]
        assert rows[1].p == 1
    worst = rank(tuple(entries), views["suite"], "always wrong")
    assert [row.entry.key for row in worst] == [0, 1]  # less is better


def test_averages_of_a_metric_are_the_mean_over_variants(scored: dict[str, Scored]) -> None:
    result = scored["rules"].results["exact"]
    values = {cell.column: cell.score.value for cell in result.cells["jga"] if cell.score}
    variants = [100 * values[name] for name in ("original", "typos", "entities")]
    assert values["Avg."] == pytest.approx(np.mean(variants))
    assert values["Avg.c"] == pytest.approx(np.mean(variants[1:]))
    assert result.cell("suite", "Avg.c").score.value == pytest.approx(variants[1])  # type: ignore[union-attr]
