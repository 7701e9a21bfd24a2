"""The contract, held by every registered stressor on MultiWOZ, SGD and `reminder`.

What comes out depends on the dialogue, the spec and the seed alone; the label stays true; the original can be had back.
"""

from __future__ import annotations

import json
import pickle
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dstress.dialogue import Dialogue, Schema, State
from dstress.engines.local import Local
from dstress.pipeline.stress import StressedCorpus, stress
from dstress.schema_names import Names, rename_dialogue
from dstress.stressors import create, stressors
from dstress.stressors.base import SchemaStressor, TurnStressor
from dstress.stressors.released.sets import ReleasedSet, turns_of, write_set
from dstress.text import mentions as values
from dstress.text.word_row import word_lists
from tests.parts import need_parts_of
from tests.stressors.generators.training import training
from tests.stressors.samples import CORPORA, in_memory, sample, undo
from tests.stressors.schema.schemas import add_sgd

SLOW = {"speech": 3, "schema_backtranslation": 6}
"""Stressors that see fewer dialogues: real translation and real audio take their time."""

SPECS = {"speech": "speech(snr=15)", "counterfactual": 'counterfactual(fallback=values, train="TRAIN")'}
LEARNING = ("counterfactual",)
"""Stressors that need training data of the corpus's services."""

COMPOSED = [
    "typos(rate=0.2)+disfluency",
    "entities+typos",
    "values+verbosity",
    "typos(rate=0.2, scope=dialogue)",
    "values+disfluency(scope=dialogue)",
    "schema_noise+unseen_entities+typos",
]


def write_rewrites(dialogues: list[Dialogue], folder: Path) -> Path:
    """Every turn, in more words."""
    rows = [
        {"dialogue": one.id, "turn": turn, "user": f"well, {one.turns[turn].user}"}
        for one in dialogues
        for turn in range(len(one.turns))
    ]
    path = folder / "rewrites.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_released(dialogues: list[Dialogue], schema: Schema, folder: Path) -> Path:
    """Typing errors, as a set."""
    turns, content = turns_of(stress(in_memory(dialogues, schema), "typos"))
    path = folder / "typos-1.json.gz"
    released = ReleasedSet(
        name="typos-1",
        corpus="sample:test",
        content=content,
        stressor="typos",
        seed=1,
        signature="",
        effect="invariant",
        turns=turns,
    )
    write_set(released, path)
    return path


@pytest.fixture(scope="module", params=CORPORA)
def corpus_name(request: pytest.FixtureRequest) -> str:
    if request.param != "reminder":
        request.getfixturevalue("shared")
    return str(request.param)


@pytest.fixture(scope="module", params=[*stressors, *COMPOSED])
def stressed(
    request: pytest.FixtureRequest,
    corpus_name: str,
    new_home: Callable[[], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[StressedCorpus]:
    """Each stressor, and some compositions, over each corpus."""
    name, folder = str(request.param), tmp_path_factory.mktemp("stressed")
    shared = request.getfixturevalue("shared") if corpus_name != "reminder" else None
    spec = SPECS.get(name, name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSTRESS_HOME", str(new_home()))
        if name in LEARNING:
            spec = spec.replace("TRAIN", training(corpus_name, shared))
        for part in create(spec).parts:
            need_parts_of(part)
        if (name, corpus_name) == ("schema_variant", "sgd"):
            add_sgd(shared, folder)
        corpus = sample(corpus_name, shared)
        originals = list(corpus)[: SLOW.get(name, 12)]
        if name == "rewrites":
            spec = f'rewrites(path="{write_rewrites(originals, folder)}")'
        if name == "released":
            spec = f'released(name="{write_released(originals, corpus.schema, folder)}")'
        yield stress(in_memory(originals, corpus.schema, corpus_name), spec, seed=7)


@pytest.fixture(scope="module")
def dialogues(stressed: StressedCorpus) -> list[Dialogue]:
    """What comes out, made once for all tests."""
    return list(stressed)


def test_the_same_whatever_the_order_and_the_shards(stressed: StressedCorpus, dialogues: list[Dialogue]) -> None:
    shuffled = list(stressed.original)
    random.Random(1).shuffle(shuffled)
    one_by_one = {
        done.id: done for dialogue in shuffled for done in stressed.stressor.stress([dialogue], stressed.seed)
    }
    assert [one_by_one[dialogue.id] for dialogue in dialogues] == dialogues
    assert list(stressed) == dialogues


@pytest.mark.parametrize("stressed", ["typos", "entities", "counterfactual"], indirect=True)
def test_two_processes_and_a_part_of_the_corpus_give_the_same_bytes(
    stressed: StressedCorpus, dialogues: list[Dialogue], corpus_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prepared anew for every second dialogue, in groups small enough for two to share.

    Three stand for all: one of each scope, and one that learns. The way to the processes is the same for each.
    """
    monkeypatch.setattr("dstress.pipeline.stress._GROUP", 2)
    part = in_memory(list(stressed.original)[::2], stressed.original.schema, corpus_name)
    part.whole = stressed.original
    expected = [msgspec.json.encode(dialogue) for dialogue in dialogues][::2]
    again = stress(part, stressed.stressor.spec, seed=stressed.seed, engine=Local(2))
    assert [msgspec.json.encode(dialogue) for dialogue in again] == expected


def test_it_survives_pickling(stressed: StressedCorpus) -> None:
    copy = pickle.loads(pickle.dumps(stressed.stressor))
    originals = list(stressed.original)[:2]
    assert copy.stress(originals, stressed.seed) == stressed.stressor.stress(originals, stressed.seed)


def test_the_original_can_be_restored(stressed: StressedCorpus, dialogues: list[Dialogue]) -> None:
    originals = _under_new_names(stressed)
    for before, after in zip(originals, dialogues, strict=True):
        assert after.id == before.id and len(after.turns) == len(before.turns)
        for old, new in zip(before.turns, after.turns, strict=True):
            assert msgspec.structs.replace(new.original, stress=None) == old
            if new.stress is not None:
                assert undo(new.user, new.stress.edits) == old.user
                assert undo(new.system, new.stress.system_edits) == old.system
            else:
                assert new == old


def _under_new_names(stressed: StressedCorpus) -> list[Dialogue]:
    """The originals as a schema stressor renamed them; the renaming itself must lead back to the true originals."""
    dialogues = list(stressed.original)
    for part in stressed.stressor.parts:
        if isinstance(part, SchemaStressor):
            names = part.names(stressed.seed)
            there = [rename_dialogue(dialogue, names) for dialogue in dialogues]
            assert [rename_dialogue(dialogue, _inverse(names)) for dialogue in there] == dialogues
            dialogues = there
    return dialogues


def _inverse(names: Names) -> Names:
    def flipped(table: dict[str, str]) -> dict[str, str]:
        assert len(set(table.values())) == len(table)
        return {after: before for before, after in table.items()}

    return Names(
        flipped(names.services),
        {names.services[service]: flipped(slots) for service, slots in names.slots.items()},
        {names.services[service]: flipped(intents) for service, intents in names.intents.items()},
    )


def test_the_label_is_true(stressed: StressedCorpus, dialogues: list[Dialogue]) -> None:
    back = [_inverse(part.names(stressed.seed)) for part in stressed.stressor.parts if isinstance(part, SchemaStressor)]
    for dialogue in dialogues:
        for names in back:  # a value is found by what its slot is called
            dialogue = rename_dialogue(dialogue, names)
        before: State = {}
        for turn in dialogue.turns:
            if stressed.stressor.effect == "invariant":
                assert turn.state == turn.original.state
            if turn.changed and stressed.stressor.guarded and not turn.ood:
                (_check_new if stressed.stressor.spec.startswith(LEARNING) else _check_said)(turn, before)
            before = turn.remembered.state


def test_no_value_of_the_corpus_is_added(stressed: StressedCorpus, dialogues: list[Dialogue]) -> None:
    """But where a wrong value is said to be taken back, and where another value is implied."""
    stressor, schema = stressed.stressor, stressed.original.schema
    if stressor.effect != "invariant" or not stressor.guarded:
        return
    if any(isinstance(part, TurnStressor) and part.names_values for part in stressor.parts):
        return
    forms = {form for one in stressed.original for turn in one.turns for all in turn.state.values() for form in all}
    forms |= {form for slot in schema.slots.values() for form in slot.values}
    function = word_lists().function
    names = [form for form in forms if not function.issuperset(re.findall(r"[^\W_]+", form.lower()))]
    named = re.compile("|".join(rf"(?<!\w){re.escape(form)}(?!\w)" for form in sorted(names, key=len)), re.IGNORECASE)
    for dialogue in dialogues:
        for turn in dialogue.turns:
            if turn.changed and "repair" not in turn.stress.tags:
                before = {match[0].lower() for match in named.finditer(turn.original.user)}
                added = {match[0].lower() for match in named.finditer(turn.user)} - before
                assert all(form in turn.original.user.lower() for form in added), (added, turn.user)


def _check_said(turn: Any, before: State) -> None:
    """Each value that the original's words gave the state is said, under its new name if it has one."""
    old_before = {slot: forms for slot, forms in before.items() if turn.original.state.get(slot) == forms}
    unsaid = set()
    for mention in values.find_mentions(turn.original, old_before):
        forms = turn.state.get(mention.slot)
        assert forms is not None
        if not values.find_value(turn.user, mention.slot, forms):
            unsaid.add((mention.start, mention.end))
    is_implied = any(tag.startswith("implied") for tag in turn.stress.tags)
    assert len(unsaid) == is_implied, (unsaid, turn.user)


def _check_new(turn: Any, before: State) -> None:
    """What is not in the original's state, nor before it, is said: other words may leave out the rest on purpose."""
    for slot, forms in turn.state.items():
        if forms not in (turn.original.state.get(slot), before.get(slot)):
            assert values.find_value(turn.user, slot, forms), (slot, turn.user, forms)


def test_history_is_as_the_scope_says(stressed: StressedCorpus, dialogues: list[Dialogue]) -> None:
    for dialogue in dialogues:
        for turn in dialogue.turns:
            if stressed.stressor.scope == "turn":
                assert msgspec.structs.replace(turn.remembered, stress=None) == turn.original
                assert turn.system == turn.original.system
            elif len(stressed.stressor.parts) == 1:
                assert turn.remembered is turn


def test_annotations_point_into_the_words(stressed: StressedCorpus, dialogues: list[Dialogue]) -> None:
    slots = stressed.schema.slots
    for dialogue in dialogues:
        for turn in dialogue.turns:
            assert turn.user.strip()
            assert turn.state.keys() <= slots.keys()
            for text, frames in ((turn.user, turn.frames), (turn.system, turn.system_frames)):
                spans = [span for frame in frames for span in frame.spans]
                assert all(0 <= span.start < span.end <= len(text) for span in spans)


def test_it_is_a_corpus_like_any_other(dialogues: list[Dialogue]) -> None:
    for dialogue in dialogues:
        assert msgspec.json.decode(msgspec.json.encode(dialogue), type=Dialogue) == dialogue


@pytest.mark.parametrize("name", ["typos", "disfluency", "values", "entities", "speech_text"])
def test_another_seed_gives_another_corpus(name: str) -> None:
    corpus = sample("reminder", None)
    one, other = (list(stress(corpus, name, seed=seed)) for seed in (1, 2))
    assert one != other
