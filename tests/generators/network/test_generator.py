"""The `seq2seq` generator: networks small enough to train here, from scratch and from a checkpoint made on the spot."""

# ruff: noqa: E402  what needs torch is imported once it is known to be there

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from tests.parts import need

need("torch", "models")

import torch

from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.errors import DstressError, SpecError
from dstress.generators import Candidate, Goal, Request, generators
from dstress.generators.goals import own_goal
from dstress.generators.matching import find_unsaid
from dstress.generators.network.backbone import Options
from dstress.generators.network.constraints import Constraints, Placeholders
from dstress.generators.network.examples import example_of, examples_of, slot_in_words
from dstress.generators.network.filler import Filled, fill
from dstress.generators.network.generator import Seq2Seq, load
from dstress.generators.network.joints import Joiner
from dstress.generators.network.linear_form import (
    Example,
    Known,
    Part,
    Wish,
    in_plain_words,
    known_from,
    linearize,
)
from dstress.generators.network.training import create_task, kind_of, perplexity_of
from dstress.generators.network.vocabulary import Vocabulary, words_in
from dstress.learning import loop
from dstress.learning.base import Session
from dstress.learning.recipe import TrainingOptions
from dstress.resources import Resources
from dstress.text.utterance import Utterance
from dstress.text.writing_style import WritingStyle
from tests.trackers.serving import held

TINY = Options(width=64, layers=1, heads=2, dropout=0.0)
BRIEF = TrainingOptions(epochs=12, batch=16, rate=3e-3, decay="linear", metric="perplexity")


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Two threads on a busy machine mostly wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def examples() -> tuple[list[Example], list[Example]]:
    return list(examples_of(held("reminder:train"))), list(examples_of(held("reminder:dev")))[:60]


def fitted(train: list[Example], dev: list[Example], out: Path, model: Options, options: TrainingOptions) -> Path:
    out.mkdir()
    torch.manual_seed(options.seed)
    task = create_task(kind_of(model).create(model, train), train, dev, "reminder:train", options)
    loop.fit(task, options, out, Session("cpu"))
    return out


@pytest.fixture(scope="module")
def folder(examples: tuple[list[Example], list[Example]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fitted(*examples, tmp_path_factory.mktemp("seq2seq") / "trained", TINY, BRIEF)


def perplexities(folder: Path) -> list[float]:
    return [each["perplexity"] for each in json.loads((folder / "training.json").read_text("utf-8"))["evaluations"]]


def prepared(folder: Path, **more: Any) -> Seq2Seq:
    test = held("reminder:test")
    generator = Seq2Seq(str(folder), device="cpu", **({"least": -9.0} | more))
    generator.prepare(Resources(test.schema, test, held, folder), held("reminder:train"))
    return generator


@pytest.fixture(scope="module")
def generator(folder: Path) -> Seq2Seq:
    return prepared(folder)


def requests(count: int) -> list[Request]:
    """The goals of test users."""
    test, found = held("reminder:test"), []
    for dialogue in test:
        for number in range(len(dialogue.turns)):
            said = Utterance(dialogue, number, test.schema, ())
            if own_goal(said).spoken:
                found.append(Request(said.turn.system, own_goal(said)))
    return found[:count]


# Examples


SCHEMA = Schema(
    (
        Service(
            "hotel",
            "",
            (
                Slot("area", "", True, ("north", "south")),
                Slot("parking", "", True, ("yes", "no")),
                Slot("name"),
                Slot("book people"),
            ),
        ),
    )
)


class Few:
    """A corpus of one dialogue."""

    schema = SCHEMA

    def __init__(self, *turns: Turn) -> None:
        self.turns = turns

    def __iter__(self) -> Iterator[Dialogue]:
        return iter([Dialogue("d", self.turns, ("hotel",))])


def test_a_turn_becomes_an_example() -> None:
    state = {"hotel-name": ("acorn house",), "hotel-book people": ("3",), "hotel-parking": ("yes",)}
    turn = Turn("Book the Acorn House for 3 with parking.", "How about the Acorn House?", state)
    [example] = examples_of(Few(turn))
    assert example.system == (Part("How about the "), Part("Acorn House", 0), Part("?"))
    assert example.wishes == (
        Wish("hotel name", "acorn house", name="name"),
        Wish("hotel book people", "3", name="book_people"),
        Wish("hotel parking", "yes", kind="flag", name="parking"),
    )
    assert [part for part in example.user if part.wish >= 0] == [Part("Acorn House", 0), Part("3", 1)]
    assert example.clean
    assert example.name == "dialogue d, turn 0"


@pytest.mark.parametrize(
    ("user", "clean"),
    [
        ("for 3 people", True),
        ("for 3 people in the north", False),  # said before
        ("for 3 people at 17:15", False),  # no slot has it
        ("for 3 people , acorn house", False),  # the label has it only a turn later
        ("for 3 people at 1 of them", True),
    ],
)
def test_what_says_more_than_its_label_is_told_apart(user: str, clean: bool) -> None:
    before = {"hotel-area": ("north",)}
    now = before | {"hotel-book people": ("3",)}
    turns = (
        Turn("in the north", "", before),
        Turn(user, "", now),
        Turn("ok", "", now | {"hotel-name": ("acorn house",)}),
    )
    assert [example.clean for example in examples_of(Few(*turns))][:2] == [True, clean]


def test_slots_in_words() -> None:
    assert slot_in_words("hotel-book day") == "hotel book day"
    assert slot_in_words("RentalCars_2-pickup_city") == "rental cars pickup city"


def test_values_are_placeholders_or_words() -> None:
    goal = Goal({"hotel-name": "zanzibar inn", "hotel-area": "north"}, {"hotel-parking": "yes"})
    example = example_of(Request("Zanzibar Inn?", goal), SCHEMA.slots)
    known = Known({("hotel area", "north")}, {"area"})
    told = " ".join(linearize(example, known).source)
    assert told == (
        "<clean> <system> <value_1> ? <said> hotel name <is> <value_1> <said> hotel area <is> north "
        "<taken> hotel parking <is> yes"
    )
    assert linearize(example, Known((), {"area"})).wishes == {"<value_1>": 0, "<value:area>": 1}
    seen = {" ".join(linearize(example, known, Random(seed)).source) for seed in range(40)}
    assert len(seen) > 4  # slots in either order, north in words, by its own placeholder or, seldom, by none
    assert all("zanzibar" not in text and "<taken> hotel parking <is> yes" in text for text in seen)
    assert in_plain_words(example)[0] == (
        "system: Zanzibar Inn? state: hotel name zanzibar inn , hotel area north , hotel parking yes"
    )


def test_what_is_there_often_is_known() -> None:
    def example(*wishes: Wish) -> Example:
        return Example((), wishes)

    often = example(Wish("hotel area", "north", kind="listed", name="area"), Wish("hotel stars", "4", kind="listed"))
    seldom = example(Wish("hotel area", "south", kind="listed", name="area"), Wish("hotel name", "acorn", name="name"))
    assert known_from([*[often] * 20, *[seldom] * 19]) == Known({("hotel area", "north")}, {"area"})


def test_two_examples_join_to_one() -> None:
    first = Example(
        (Part("Which hotel?"),), (Wish("hotel name", "acorn", name="name"),), (Part("the "), Part("Acorn", 0))
    )
    fit = Example((), (Wish("hotel area", "north", name="area"),), (Part("it should be in the north"),))
    fitting = fit._replace(user=(Part("in the "), Part("north", 0), Part(".")))
    other = Example((), (Wish("taxi area", "north", name="area"),), (Part("in the north"),))
    answer, loose = fit._replace(user=(Part("yes, north"),)), fitting._replace(clean=False)
    joined = Joiner([first, fit, other, answer, loose]).join(first, Random(1))
    assert joined == first  # nothing goes with it: the same slot, another service, an answer, more than its label
    joined = Joiner([first, fitting]).join(first, Random(1))
    assert joined.wishes == first.wishes + fitting.wishes
    assert joined.system == first.system
    assert "".join(part.text for part in joined.user) == "the Acorn . in the north."
    assert [part.wish for part in joined.user] == [-1, 0, -1, -1, 1, -1]


def test_words() -> None:
    assert words_in("It's 5pm, <value_2> -s at <value:a_b>.") == [
        "it", "'s", "5", "pm", ",", "<value_2>", "-s", "at", "<value:a_b>", ".",
    ]  # fmt: skip
    known = Vocabulary.learn([["it", "s", "it", "s", "rare"]])
    assert known.decode(known.encode(["it", "'s", "rare", "<value_3>"])) == ["it", "s", "<unknown>", "<value_3>"]


# Putting values back


TRADE = WritingStyle(False, True, False, endings_apart=True)
PROSE = WritingStyle(True, False, True, titled=True)


@pytest.mark.parametrize(
    ("text", "values", "style", "wanted"),
    [
        ("a <value_1> place .", ["expensive"], TRADE, "an expensive place ."),
        ("for <value_1> people .", ["1"], TRADE, "for 1 person ."),
        ("for <value_1> person .", ["4"], TRADE, "for 4 people ."),
        ("the <value_1> hotel please", ["the lensfield hotel"], TRADE, "the lensfield hotel please"),
        ("any <value_1> -s ?", ["library"], TRADE, "any library -s ?"),
        ("any <value_1> -s ?", ["library"], PROSE._replace(titled=False), "Any libraries?"),
        ("it s on monday . <value_1> , i think", ["acorn house"], PROSE, "It's on Monday. Acorn House, i think"),
        ("go <value_2>", ["x"], TRADE, "go"),
    ],
)
def test_a_value_fits_into_its_sentence(text: str, values: list[str], style: WritingStyle, wanted: str) -> None:
    assert fill(text, [Filled(value) for value in values], style, {"monday": "Monday"}) == wanted


# Training


def test_it_learns_and_the_best_epoch_is_kept(folder: Path, examples: tuple[list[Example], list[Example]]) -> None:
    told = perplexities(folder)
    assert len(told) == BRIEF.epochs
    assert min(told) < 25 < told[0]
    network = load(folder, "cpu")
    network.module.float()
    assert perplexity_of(network, examples[1], BRIEF) == pytest.approx(min(told), rel=1e-4)


def test_options_that_cannot_work(examples: tuple[list[Example], list[Example]], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="evenly"):
        Options(width=100, heads=3)
    with pytest.raises(ValueError, match="shares"):
        Options(joined=1.0)
    with pytest.raises(SpecError, match="judged by their perplexity"):
        fitted(*examples, tmp_path / "x", TINY, TrainingOptions())


# What may be said


def test_values_are_said_once_before_the_end_and_no_word_twice_in_a_row() -> None:
    words = Vocabulary.learn([["a", "a", "b", "b"]])
    required, free, other = words.values[:3]
    a, b = words.encode(["a", "b"])

    def next_words(*said: int, forces_values: bool = False) -> set[str]:
        goals = [Placeholders([required], [required, free])]
        constraints = Constraints(words, goals, 1, "cpu", forces_values=forces_values)
        scores = constraints(torch.tensor([[words.end, *said]]), torch.zeros(1, len(words)))
        return set(words.decode(torch.isfinite(scores[0]).nonzero().flatten().tolist()))

    assert next_words() == {"<value_1>", "<value_2>", "a", "b"}
    assert next_words(a) == {"<value_1>", "<value_2>", "b"}
    assert next_words(a, required) == {"<value_2>", "<end>", "a", "b"}
    assert next_words(free, required) == {"<end>", "a", "b"}
    assert words.decode([other])[0] not in next_words(a, b)
    assert next_words(*[a, b] * 4) == {"<value_1>", "<value_2>", "a"}
    assert next_words(*[a, b] * 4, forces_values=True) == {"<value_1>"}
    assert next_words(required, *[a, b] * 19) == {"<end>"}  # the last place
    assert next_words(*[a, b] * 19, a) == set()


# Speaking


def texts(found: Sequence[Sequence[Candidate]]) -> list[list[str]]:
    return [[one.text for one in candidates] for candidates in found]


def test_every_value_is_said_also_unseen_ones(generator: Seq2Seq) -> None:
    wanted = [
        Goal({"taxi-departure": "Qwxzy Plaza"}),
        Goal({"taxi-departure": "Qwxzy Plaza", "taxi-destination": "the Blorb"}),
        Goal({"trips-tickets": "87", "trips-origin": "Xanadu", "trips-destination": "El Dorado"}),
    ]
    found = generator.generate_all([Request("", goal) for goal in wanted], 5)
    for goal, candidates in zip(wanted, found, strict=True):
        assert candidates
        assert all(value in one.text for one in candidates for value in goal.spoken.values()), candidates


def test_it_has_learnt_to_answer(generator: Seq2Seq) -> None:
    """Most first candidates say their whole goal, those values included that are no placeholders."""
    wanted = requests(60)
    found = generator.generate_all(wanted, 5)
    single = [
        (one, candidates)
        for one, candidates in zip(wanted, found, strict=True)
        if len(one.goal.spoken) == 1 and candidates
    ]
    good = sum(not find_unsaid(candidates[0].text, one.goal) for one, candidates in single)
    assert len(single) > 15
    assert good / len(single) > 0.8
    assert len({candidates[0].text for candidates in found if candidates}) > 30


def test_candidates_differ(generator: Seq2Seq) -> None:
    found = generator.generate_all(requests(20), 4)
    assert sum(len(candidates) > 1 for candidates in found) >= 14  # so small a network does not find every way
    for candidates in found:
        assert len(candidates) <= 4
        assert len({one.text for one in candidates}) == len(candidates)
        assert all(one.score < 0 for one in candidates)


def test_what_says_its_goal_comes_first(generator: Seq2Seq) -> None:
    wanted = requests(30)
    told = []
    for one, candidates in zip(wanted, generator.generate_all(wanted, 5), strict=True):
        missing = [bool(find_unsaid(text, one.goal)) for text, _ in candidates]
        assert missing == sorted(missing)
        told += missing
        for kind in (False, True):
            scores = [score for (_, score), lacks in zip(candidates, missing, strict=True) if lacks == kind]
            assert scores == sorted(scores, reverse=True)
    assert set(told) == {False, True}


def test_what_comes_back_does_not_depend_on_the_others(folder: Path, generator: Seq2Seq) -> None:
    wanted = requests(12)
    together = generator.generate_all(wanted, 5)
    alone = [generator.generate(*one[:2], 5) for one in wanted]
    backwards = prepared(folder, batch=5).generate_all(wanted[::-1], 5)[::-1]
    assert texts(alone) == texts(together) == texts(backwards)
    for one, other in zip(alone, together, strict=True):
        assert [c.score for c in one] == pytest.approx([c.score for c in other], abs=1e-9)


def test_it_survives_pickling(generator: Seq2Seq) -> None:
    text = pickle.dumps(generator)
    assert len(text) < 100_000  # no weights
    assert texts(pickle.loads(text).generate_all(requests(3), 5)) == texts(generator.generate_all(requests(3), 5))


# From a checkpoint


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory, examples: tuple[list[Example], list[Example]]) -> Path:
    """A T5 with random weights and a tokenizer of whole words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

    said = sorted(
        {word for example in examples[0] for text in in_plain_words(example) for word in text.lower().split()}
    )
    words = {word: number for number, word in enumerate(["<pad>", "</s>", "<unk>", *said])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", model_max_length=512
    )
    torch.manual_seed(1)
    shape = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 1, "num_heads": 4, "dropout_rate": 0.0}
    model = T5ForConditionalGeneration(T5Config(vocab_size=len(words), decoder_start_token_id=0, **shape))
    place = tmp_path_factory.mktemp("checkpoint") / "t5"
    model.save_pretrained(place)
    fast.save_pretrained(place)
    return place


def test_a_checkpoint_is_tuned_and_asked(
    checkpoint: Path, examples: tuple[list[Example], list[Example]], tmp_path: Path
) -> None:
    model, options = Options(str(checkpoint), joined=0.0), replace(BRIEF, epochs=5, rate=1e-2)
    told = perplexities(fitted(examples[0], examples[1][:30], tmp_path / "tuned", model, options))
    assert told[-1] < told[0]
    generator = prepared(tmp_path / "tuned", beam=4)
    wanted = requests(3)
    together = generator.generate_all(wanted, 4)
    assert texts([generator.generate(*one[:2], 4) for one in wanted]) == texts(together)
    assert all(len(candidates) <= 4 for candidates in together)
    assert any(together)
    assert texts(pickle.loads(pickle.dumps(generator)).generate_all(wanted[:1], 4)) == texts(together[:1])


def test_no_such_checkpoint(examples: tuple[list[Example], list[Example]], tmp_path: Path) -> None:
    with pytest.raises(DstressError, match="cannot be read"):
        fitted(*examples, tmp_path / "out", Options(str(tmp_path / "none")), BRIEF)


# What is wrong from the start


def test_a_spec_makes_one(folder: Path) -> None:
    made = generators.create(f'seq2seq(folder="{folder}", beam=3)')
    assert isinstance(made, Seq2Seq)
    assert made.beam == 3


def test_without_a_folder() -> None:
    with pytest.raises(SpecError, match="dstress train utterances"):
        generators.create("seq2seq")
    with pytest.raises(SpecError, match="beam and batch"):
        Seq2Seq("x", beam=0)


def test_a_folder_without_a_network(tmp_path: Path) -> None:
    with pytest.raises(DstressError, match=r"no trained network.*\n.*dstress train utterances"):
        prepared(tmp_path)


def test_a_folder_of_an_earlier_version_is_to_be_trained_again(tmp_path: Path) -> None:
    """Its network was dstress's own: a config.json and weights.pt at the top."""
    (tmp_path / "config.json").write_text('{"format": 2, "backbone": "scratch", "slots": []}')
    (tmp_path / "weights.pt").write_bytes(b"")
    with pytest.raises(DstressError, match=r"of an earlier version\n.*dstress train utterances"):
        prepared(tmp_path)


def test_a_checkpoint_of_a_tracker(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "best", tmp_path / "copy")
    notes = json.loads((tmp_path / "copy" / "model.json").read_text("utf-8"))
    (tmp_path / "copy" / "model.json").write_text(json.dumps(notes | {"family": "copy"}), "utf-8")
    with pytest.raises(DstressError, match="a checkpoint of copy, not of utterances"):
        prepared(tmp_path / "copy")
    del notes["model"]["vocabulary"]
    (tmp_path / "copy" / "model.json").write_text(json.dumps(notes), "utf-8")
    with pytest.raises(DstressError, match="vocabulary"):
        prepared(tmp_path / "copy")


def test_damaged_weights(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "best", tmp_path / "copy")
    weights = tmp_path / "copy" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(DstressError, match="the weights cannot be read"):
        prepared(tmp_path / "copy")


def test_a_network_for_other_services(folder: Path) -> None:
    generator = Seq2Seq(str(folder), device="cpu")
    with pytest.raises(DstressError, match="other services"):
        generator.prepare(Resources(SCHEMA, [], held, folder), held("reminder:train"))
