"""The playground shows what `dstress stress` writes, says why a turn stays, and treats what is missing as an answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import dstress
from dstress.corpora import load
from dstress.errors import DstressError
from dstress.stressors import stressors
from dstress.studies.playground import Change, Made, Playground, Scene, offer, read_state, write_spec, write_state


@pytest.fixture(scope="module")
def playground(ready_home: Path) -> Playground:
    patch = pytest.MonkeyPatch()
    patch.setenv("DSTRESS_HOME", str(ready_home))
    try:
        return Playground(load("reminder:test"))
    finally:
        patch.undo()


def text(made: Made) -> str:
    return "".join(part.text for part in made.user if part.kind != "gone")


@pytest.mark.parametrize(
    "spec", ["typos(rate=0.4)", "entities", pytest.param("disfluency+values", marks=pytest.mark.slow)]
)
def test_a_turn_of_a_corpus_is_stressed_as_dstress_stress_does(playground: Playground, spec: str) -> None:
    dialogue = playground.find("reminder-test-0003")
    for turn in range(len(dialogue.turns)):
        shown = {
            seed: made for made in playground.try_out(spec, Scene(dialogue, turn), (1, 2)).made for seed in made.seeds
        }
        for seed in (1, 2):
            stressed = next(d for d in dstress.stress("reminder:test", spec, seed=seed) if d.id == dialogue.id)
            assert text(shown[seed]) == stressed.turns[turn].user
            after = {change.slot: change.after for change in shown[seed].label}
            first = {slot: forms[0] for slot, forms in stressed.turns[turn].state.items()}
            assert after.items() <= first.items()
            assert bool(after) == (stressed.turns[turn].state != dialogue.turns[turn].state)


def test_a_typed_turn_keeps_its_values_and_ends_the_dialogue(playground: Playground) -> None:
    dialogue = playground.find("")
    state = read_state("rooms-name = Rookery Inn\nrooms-guests = 2 | two", playground.corpus.schema)
    scene = Scene(dialogue, 2).write("a room at the Rookery Inn for two, please", "", state)
    assert len(scene.dialogue.turns) == 3 and scene.dialogue.turns[:2] == dialogue.turns[:2]
    assert [mention.slot for mention in scene.mentions] == ["rooms-name", "rooms-guests"]
    for made in playground.try_out("typos(rate=1)", scene, range(1, 6)).made:
        assert "Rookery Inn" in text(made) and " two" in text(made)
    named = playground.try_out("unseen_entities", scene, (1,)).made[0]
    assert named.label == [Change("rooms-name", "Rookery Inn", named.label[0].after)]
    assert named.label[0].after in text(named)
    assert Scene(dialogue, 2).write(dialogue.turns[2].user, dialogue.turns[2].system, dialogue.turns[2].state) == Scene(
        dialogue, 2
    )


def test_seeds_that_give_the_same_are_one_answer_and_a_turn_left_alone_says_why(playground: Playground) -> None:
    scene = Scene(playground.find(""), 0)
    [made] = playground.try_out("time_format", scene, range(1, 5)).made
    assert made.seeds == (1, 2, 3, 4) and made.reason == "it found nothing to change here"
    assert text(made) == scene.original.user
    long = scene.write("word " * 2000, "", {})
    assert playground.try_out("typos", long, (1,)).made[0].reason == "the utterance is too long"


def test_a_schema_that_changes_is_shown_by_its_slots(playground: Playground) -> None:
    scene = Scene(playground.find(""), 0)
    tried = playground.try_out("schema_noise", scene, (1,))
    assert tried.effect == "schema" and tried.made[0].schema and not tried.made[0].label and not tried.made[0].reason
    assert playground.try_out("distractors(count=2)", scene, (1,)).made[0].services


def test_what_is_missing_is_an_answer(playground: Playground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    scene = Scene(playground.find(""), 0)
    tried = playground.try_out("schema_backtranslation(pivots=[es])", scene, (1,))
    assert tried.is_missing and "apertium" in tried.problem and tried.fix and not tried.made
    wrong = playground.try_out("typos(rate=7)", scene, (1,))
    assert not wrong.is_missing and "rate" in wrong.problem
    assert playground.try_out("released", scene, (1,)).fix


def test_labels_are_read_as_they_are_written(playground: Playground) -> None:
    schema = playground.corpus.schema
    for dialogue in playground.corpus:
        for turn in dialogue.turns:
            assert read_state(write_state(turn.state), schema) == turn.state
    with pytest.raises(DstressError, match="unknown slot 'rooms-nmae'; did you mean 'rooms-name'"):
        read_state("rooms-nmae = x", schema)
    for line in ("rooms-name", "rooms-name = ", "rooms-name = |"):
        with pytest.raises(DstressError, match="no slot with a value") as refused:
            read_state(f"\n{line}", schema)
        assert refused.value.where == "label, line 2"


def test_a_dialogue_that_is_not_there_suggests_another(playground: Playground) -> None:
    with pytest.raises(DstressError, match="did you mean 'reminder-test-"):
        playground.find("reminder-test-003")


@pytest.mark.parametrize(
    ("name", "settings", "spec"),
    [
        ("typos", {}, "typos"),
        ("typos", {"rate": "0.1"}, "typos"),
        ("typos", {"rate": "0.3", "values": "true", "kinds": " "}, "typos(rate=0.3, values=true)"),
    ],
)
def test_settings_become_the_shortest_spec(name: str, settings: Mapping[str, str], spec: str) -> None:
    assert write_spec(offer()[name], settings) == spec


def test_every_stressor_is_offered_with_its_arguments() -> None:
    offered = offer()
    assert set(offered) == set(stressors)
    arguments = {argument.name: argument for argument in offered["paraphrase"].arguments}
    assert arguments["strength"].choices == ("strong", "mild") and arguments["encoder"].choices == ("true", "false")
    assert arguments["scope"].default == "turn" and not arguments["pivots"].choices
    assert [stressor.heavy for stressor in offered.values()] == sorted(stressor.heavy for stressor in offered.values())
