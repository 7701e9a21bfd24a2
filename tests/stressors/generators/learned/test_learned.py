"""The generator `learned`: what a turn means, and samples of a tiny network with random weights."""

from __future__ import annotations

import pickle
from pathlib import Path
from random import Random

import pytest

from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.errors import DstressError, SpecError
from dstress.resources import Resources
from dstress.stressors.generators import Goal, Request, generators
from dstress.stressors.generators.goals import own_goal
from dstress.stressors.generators.learned.meaning import lessons_of, meaning_of, named_services, said_acts
from dstress.text.utterance import Utterance
from tests.parts import need

SCHEMA = Schema((Service("hotel", slots=tuple(map(Slot, ("area", "name", "pricerange", "book people")))),))
DIALOGUE = Dialogue(
    "d1",
    (
        Turn("hi , i want a hotel in the north .", state={"hotel-area": ("north",)}),
        Turn(
            "yes please , book it for 3 people . thanks , what is the phone number ?",
            system="the acorn is free . book it ?",
            state={"hotel-area": ("north",), "hotel-name": ("acorn",), "hotel-book people": ("3",)},
        ),
    ),
    ("hotel",),
)


class Few:
    """A corpus of one dialogue, some times over."""

    schema = SCHEMA

    def __iter__(self):
        return iter([DIALOGUE] * 5)


def test_what_a_turn_means() -> None:
    utterance = Utterance(DIALOGUE, 1, SCHEMA, (1, "key"))
    meaning = meaning_of(utterance, own_goal(utterance), by_acts=False)
    assert meaning.prompt().splitlines() == [
        "user: hi , i want a hotel in the north .",
        "system: the acorn is free . book it ?",
        "says: hotel book people = 3",
        "takes: hotel name = acorn",
        "does: thanks, yes, book, question, same, asks phone",
        "names: -",
        "words: book people phone number",
        "length: 4",
        "user:",
    ]
    assert meaning._replace(acts=None, names=None, words=None, length=None).prompt().splitlines()[4:] == ["user:"]


@pytest.mark.parametrize(
    ("text", "acts", "services"),
    [
        ("no thanks , that is all .", {"no", "thanks", "bye"}, set()),
        ("can you get me the postcode and the address ?", {"question", "asks postcode", "asks address"}, set()),
        ("i also need a taxi to the restaurant", {"same"}, {"taxi", "restaurant"}),
    ],
)
def test_acts_and_services_in_words(text: str, acts: set[str], services: set[str]) -> None:
    assert set(said_acts(text)) == acts and set(named_services(text)) == services


def test_every_turn_teaches_with_parts_left_open_now_and_then() -> None:
    lessons = list(lessons_of(Few(), Random(1)))
    assert [lesson.answer for lesson in lessons[:2]] == [f" {turn.user}" for turn in DIALOGUE.turns]
    assert len({lesson.prompt for lesson in lessons[::2]}) > 2, "the same turn is put in several ways"
    assert lessons == list(lessons_of(Few(), Random(1)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("torch", "models")
    import torch

    from dstress.learning.checkpoints import write_weights
    from dstress.stressors.generators.learned import network

    torch.manual_seed(1)
    options = network.Options(width=16, layers=1, heads=2, vocabulary=300, longest=32, longest_answer=60)
    path = tmp_path_factory.mktemp("users")
    model = network.create(options, Few())
    network.save(model, "few:train", path)
    write_weights(model.module, path)
    return path


def test_samples_depend_on_seed_turn_and_goal_alone(folder: Path) -> None:
    generator = generators.create(f"learned(path={folder},samples=24,batch=7,device=cpu)")
    generator.prepare(Resources(SCHEMA, Few(), lambda name: Few(), Path()), Few())
    requests = [
        Request(
            DIALOGUE.turns[at].system, Goal({"hotel-area": "south"}), Utterance(DIALOGUE, at, SCHEMA, (seed, "key"))
        )
        for at in (0, 1)
        for seed in (1, 2)
    ]
    together = generator.sample(requests)
    assert all(together) and len({tuple(texts) for texts in together}) == 4
    copied = pickle.loads(pickle.dumps(generator))
    assert copied.sample(requests[2:3])[0].keys() == together[2].keys()
    assert all(likelihood < 0 for texts in together for likelihood in texts.values())
    # Random letters say no goal.
    assert copied.generate_all(requests, 3) == [[], [], [], []]
    assert {path.name for path in generator.files()} == {"model.json", "weights.safetensors"}


def test_what_cannot_work_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="dstress train utterances-multiwoz"):
        generators.create("learned")
    need("torch", "models")
    generator = generators.create(f"learned(path={tmp_path})")
    with pytest.raises(DstressError, match="no checkpoint"):
        generator.prepare(Resources(SCHEMA, Few(), lambda name: Few(), Path()), Few())
