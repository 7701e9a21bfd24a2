"""Augmented training corpora: what is in them, and what must not be."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random
from unittest.mock import Mock

import msgspec
import pytest
from msgspec.structs import replace

from dstress.corpora import load
from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.errors import DstressError
from dstress.learning.recipe import AugmentOptions
from dstress.pipeline.augment import Augmenting, Guard, Layout, load_augmented, meaning
from dstress.pipeline.stress import stress
from dstress.stressors.base import DialogueStressor, Rewriter, Stressor
from dstress.stressors.values import dictionary
from tests.stressors.generators.training import training
from tests.stressors.samples import in_memory, sample

SCHEMA = Schema((Service("hotel", slots=(Slot("name"), Slot("book day"), Slot("area", categorical=True))),))
ONE = Dialogue(
    "d",
    (
        Turn("the ritz", state={"hotel-name": ("ritz",)}),
        Turn("for monday", "when?", {"hotel-name": ("ritz",), "hotel-book day": ("monday",)}),
        Turn("thanks", "done", {"hotel-name": ("ritz",), "hotel-book day": ("monday",)}),
    ),
)
CORPUS = in_memory([ONE], SCHEMA)


class Pleads(Rewriter):
    """Adds some words to what is not the first turn."""

    said = "please"

    def rewrite(self, utterance: str, protected: object, random: Random) -> str:
        return utterance if "ritz" in utterance else f"{utterance} {self.said} {random.randrange(1000)}"


class Shouts(DialogueStressor):
    """Changes the dialogue as a whole."""

    def rewrite(self, dialogue: Dialogue, random: Random) -> Dialogue:
        turns = tuple(msgspec.structs.replace(turn, user=turn.user.upper()) for turn in dialogue.turns)
        return msgspec.structs.replace(dialogue, turns=turns)


class Slips(Pleads):
    """Says a name of the tests' dictionary, and then what was meant."""

    said = "at the Grand Hyatt, I mean here"


def written(folder: Path, stressor: object, times: int = 1, layout: Layout = "dialogues") -> list[Dialogue]:
    Augmenting(CORPUS, stressor, times).write(folder, layout)  # type: ignore[arg-type]
    return list(load(str(folder)))


def test_the_original_comes_first_then_each_version(tmp_path: Path) -> None:
    found = written(tmp_path, Pleads(), 3)
    assert [one.id for one in found] == ["d", "d+1", "d+2", "d+3"] and found[0] == ONE
    assert len({one.turns[1].user for one in found}) == 4
    assert all(one.turns[1].original == ONE.turns[1] for one in found[1:])


def test_an_example_ends_with_its_changed_turn(tmp_path: Path) -> None:
    first, second = written(tmp_path, Pleads(), 1, "examples")[1:]
    assert (first.id, second.id) == ("d+1@1", "d+1@2")
    assert first.turns[:1] == ONE.turns[:1] and first.turns[1].user.startswith("for monday please")
    assert second.turns[:2] == ONE.turns[:2] and second.turns[2].changed and len(second.turns) == 3


def test_a_dialogue_that_changed_as_a_whole_stays_whole(tmp_path: Path) -> None:
    [_, shouted] = written(tmp_path, Shouts(), 1, "examples")
    assert shouted.id == "d+1" and [turn.user for turn in shouted.turns] == ["THE RITZ", "FOR MONDAY", "THANKS"]


@pytest.mark.parametrize("layout", ["dialogues", "examples"])
def test_every_label_of_an_example_follows_on_its_history(tmp_path: Path, layout: Layout) -> None:
    corpus = sample("reminder", None)
    told = Augmenting(corpus, "values(dictionary=train-O)", 2).write(tmp_path, layout)
    stressed = [turn for one in stress(corpus, "values(dictionary=train-O)", seed=2) for turn in one.turns]
    new = [one for one in load(str(tmp_path)) if "+" in one.id]
    assert len(new) == told.dialogues["added"] and told.seeds == [1, 2]
    if layout == "examples":
        assert told.examples == len(new) and all(turn.stress is None for one in new for turn in one.turns[:-1])
        assert {one.turns[-1].user for one in new if "+2@" in one.id} == {t.user for t in stressed if t.changed}
    else:
        assert told.examples == sum(turn.changed for one in new for turn in one.turns)


def test_a_dialogue_in_which_nothing_changes_is_not_repeated(tmp_path: Path) -> None:
    class Nothing(Rewriter):
        def rewrite(self, utterance: str, protected: object, random: Random) -> str:
            return utterance

    told = Augmenting(CORPUS, Nothing(), 2).write(tmp_path)
    assert told.dialogues == {"original": 1, "added": 0, "unchanged": 2} and list(load(str(tmp_path))) == [ONE]


def test_a_test_value_in_the_label_is_an_error_and_nothing_is_left(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(DstressError, match=r"the test value '.+' of .+ \(dictionary O\)") as found:
        Augmenting(sample("reminder", None), "values(dictionary=O)").write(out)
    assert "dialogue reminder-test-" in found.value.where and "train-O" in found.value.fix and not out.exists()


def test_a_test_name_in_the_words_is_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(DstressError, match="'grand hyatt' of hotel-name"):
        Augmenting(CORPUS, Slips()).write(tmp_path / "out")
    assert Augmenting(CORPUS, Slips(), keep_out="none").write(tmp_path / "out").values_kept_out == 0


def test_what_training_has_itself_is_no_leak() -> None:
    own = in_memory([Dialogue("d", (Turn("x", state={"hotel-name": ("Grand Hyatt",)}),))], SCHEMA)
    assert len(Guard.named("O", CORPUS)) == len(Guard.named("O", own)) + 1


def test_a_dictionary_of_ones_own_is_kept_out(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('"hotel-book_day" = ["friday"]\n')
    changed = stress(in_memory([ONE], SCHEMA), Shouts())
    [one] = list(changed)
    leaky = msgspec.structs.replace(one.turns[1], state=one.turns[1].state | {"hotel-book day": ("Friday",)})
    guard = Guard.named(str(file), CORPUS)
    guard.check(one)
    with pytest.raises(DstressError, match="'Friday' of hotel-book day"):
        guard.check(msgspec.structs.replace(one, turns=(one.turns[0], leaky, one.turns[2])))
    file.write_text('"hotel-book dya" = ["friday"]\n')
    with pytest.raises(DstressError, match="did you mean 'hotel-book day'"):
        Guard.named(str(file), CORPUS)


@pytest.mark.parametrize(("one", "other"), [("8:00 pm", "20:00"), ("thirty", "30"), ("Grand  Hyatt", "grand hyatt")])
def test_one_value_in_two_spellings_is_one(one: str, other: str) -> None:
    assert meaning(one) == meaning(other) != meaning("friday")


def test_the_paper_s_training_dictionary_is_apart_from_its_test_s() -> None:
    test, train = dictionary.shipped("O"), dictionary.shipped("train-O")
    for slot in test.slots:
        kept = {meaning(value) for value in test.pool(slot) if not test.is_seen(slot, value)}
        assert not kept & {meaning(value) for value in train.pool(slot)}, slot


def test_what_was_augmented_once_is_read_again(tmp_path: Path) -> None:
    name, options = training("reminder", None, 4), AugmentOptions("values(dictionary=train-O)", times=2)
    made, seen = load_augmented(name, options, on_progress=print), Mock()
    Augmenting(load(name), options.stressor, 2).write(tmp_path / "more")
    assert made.data == load(str(tmp_path / "more")).data
    again = load_augmented(name, options, on_progress=seen)
    assert not seen.called and again.data == made.data and len(made) == 4 * 3
    for other in (replace(options, times=1), replace(options, seed=5), replace(options, stressor="typos")):
        assert load_augmented(name, other, on_progress=seen).data != made.data and seen.called
        seen.reset_mock()


def test_a_corpus_that_is_augmented_already_is_taken_as_it_is_or_refused(tmp_path: Path) -> None:
    name, options = training("reminder", None, 4), AugmentOptions("typos(rate=0.2)", keep_out="none")
    made = tmp_path / "made"
    Augmenting(load(name), options.stressor, keep_out="none").write(made)
    archive = shutil.make_archive(str(made), "xztar", made)
    for folder in (str(made), f"{made}:train", archive):
        seen = Mock()
        assert len(load_augmented(folder, options, on_progress=seen)) == 8 and not seen.called
        with pytest.raises(
            DstressError, match=r"augmented already, with typos\(rate=0.2\), seeds \[1\], keep.*\[1, 2\]"
        ):
            load_augmented(folder, replace(options, times=2))
    (made / "augment.json").unlink()
    with pytest.raises(DstressError, match=r"two dialogues have one id\n.*do not augment it again"):
        load_augmented(str(made), options)


def test_each_version_of_a_schema_stands_beside_the_original(tmp_path: Path) -> None:
    original = load(training("reminder", None, 4))
    specs = ["schema_variant(version=v4)", "schema_noise"]
    told = Augmenting(original, specs, 2).write(tmp_path)
    made = load(str(tmp_path))
    assert (told.stressor, told.seeds) == (", ".join(specs), [1, 2, 3, 4])
    assert told.dialogues == {"original": 4, "added": 16, "unchanged": 0}
    before = {dialogue.id: dialogue for dialogue in original}
    assert [made.schema.by_name[service.name] for service in original.schema.services] == [*original.schema.services]
    for dialogue in made:
        first, _, number = dialogue.id.partition("+")
        assert [turn.user for turn in dialogue.turns] == [turn.user for turn in before[first].turns]
        if number:
            schema = stress(original, specs[int(number) > 2], seed=int(number)).schema
            assert all(name.endswith(f"+{number}") for name in dialogue.services)
            for turn, old in zip(dialogue.turns, before[first].turns, strict=True):
                places = [list(original.schema.slots).index(slot) for slot in old.state]
                slots = [list(schema.slots)[place] for place in places]
                assert dict(turn.state) == {
                    slot.replace("-", f"+{number}-", 1): values
                    for slot, values in zip(slots, old.state.values(), strict=True)
                }
    assert {slot for dialogue in made for turn in dialogue.turns for slot in turn.state} <= set(made.schema.slots)


def test_a_service_that_stays_as_it_was_is_there_once(tmp_path: Path) -> None:
    class Distracts(Stressor):
        scope = "schema"

        def schema_of(self, schema: Schema, seed: int) -> Schema:
            return Schema((*schema.services, Service(f"boat{seed}", slots=(Slot("name"),))))

        def stress(self, dialogues: Sequence[Dialogue], seed: int) -> list[Dialogue]:
            return list(dialogues)

    Augmenting(CORPUS, Distracts(), 2).write(tmp_path)
    assert [service.name for service in load(str(tmp_path)).schema.services] == ["hotel", "boat1", "boat2"]
