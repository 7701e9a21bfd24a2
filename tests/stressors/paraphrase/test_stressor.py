"""The same in other words: examples of the docs, guards, fall-backs, and hard texts."""

from __future__ import annotations

import pickle
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pytest

from dstress import corpora
from dstress.dialogue import Coreference, Dialogue, Schema, Turn
from dstress.errors import MissingExtraError, SpecError
from dstress.pipeline.stress import stress
from dstress.resources import Resources
from dstress.stressors import create
from dstress.stressors.translators import Translation, Translator
from dstress.text.edits import differing_words
from tests.parts import need
from tests.paths import DOCS
from tests.stressors.samples import CORPORA, in_memory, sample

PAGES = DOCS / "stressors/paraphrase.md"


class Fixed(Translator):
    """Answers every text with candidates that are given; in tests only."""

    answers: ClassVar[dict[str, list[Translation]]] = {}
    routes = ("xx",)

    def check(self, source: str, target: str) -> None:
        return

    def translate(self, texts: Sequence[str], source: str, target: str) -> list[list[Translation]]:
        if target == "xx":
            return [[Translation(text)] for text in texts]
        return [self.answers.get(text, []) for text in texts]


class Rough(Fixed):
    """The same, but only single words are taken over."""

    rough = True


def after(spec: str, *turns: Turn) -> tuple[Turn, ...]:
    stressor = create(spec)
    stressor.prepare(Resources(Schema(), (), corpora.load, Path()))
    [dialogue] = stressor.stress([Dialogue("d", turns)], 1)
    return dialogue.turns


def fixed(monkeypatch: pytest.MonkeyPatch, answers: dict[str, list[str]], kind: type[Fixed] = Fixed) -> str:
    scored = {text: [Translation(one, -at) for at, one in enumerate(found)] for text, found in answers.items()}
    monkeypatch.setattr(kind, "answers", scored)
    return f"paraphrase(strength=mild, translator={__name__}:{kind.__name__}())"


@pytest.mark.slow
@pytest.mark.parametrize("strength", ["strong", "mild"])
def test_the_examples_of_the_docs_are_true(strength: str) -> None:
    if strength == "mild":
        need("apertium")
    block = PAGES.read_text(encoding="utf-8").split(f"```{strength}\n")[1].split("```")[0]
    examples = [line.split(" | ") for line in block.splitlines()]
    assert len(examples) >= 4
    dialogues = {dialogue.id: dialogue for dialogue in sample("reminder", None, 60)}
    wanted = [dialogues[name] for name in dict.fromkeys(place.split()[0] for place, _, _ in examples)]
    corpus = in_memory(wanted, sample("reminder", None, 60).schema)
    done = {dialogue.id: dialogue for dialogue in stress(corpus, f"paraphrase(strength={strength})")}
    for place, original, paraphrase in examples:
        name, turn = place.split()
        found = done[name].turns[int(turn)]
        assert (found.original.user, found.user) == (original, paraphrase)


@pytest.mark.parametrize("corpus_name", CORPORA)
def test_a_strong_paraphrase_changes_most_turns_and_many_words(
    corpus_name: str, request: pytest.FixtureRequest
) -> None:
    shared = request.getfixturevalue("shared") if corpus_name != "reminder" else None
    labelled, changed = 0, []
    for dialogue in stress(sample(corpus_name, shared), "paraphrase"):
        for before, turn in pairwise((Turn(""), *dialogue.turns)):
            labelled += turn.original.state != before.original.state
            if turn.changed:
                changed.append((turn, turn.original.state != before.original.state))
    differing, words = map(
        sum, zip(*(differing_words(turn.original.user, turn.user) for turn, _ in changed), strict=True)
    )
    assert differing / words > 0.4
    assert sum(bears for _, bears in changed) / labelled > 0.75


def test_requests_names_and_numbers_stay(shared: Path) -> None:
    asked = ("phone", "address", "post", "reference", "fee", "price", "travel time", "train id")
    turns = [turn for dialogue in stress(sample("multiwoz", shared), "paraphrase") for turn in dialogue.turns]
    changed = [(turn.original.user, turn.user) for turn in turns if turn.changed]
    assert sum(any(word in before.lower() for word in asked) for before, _ in changed) >= 15
    for before, after in changed:
        for word in asked:
            assert (word in before.lower()) <= (word in after.lower()), (before, after)
        assert sorted(re.findall(r"\d+", before)) == sorted(re.findall(r"\d+", after))
        names = re.findall(r"(?<=[a-z] )[A-Z]\w+", before)
        assert all(name in after for name in names), (before, after)


def test_the_strong_one_needs_nothing_that_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    [turn] = after("paraphrase", Turn("I need a table for 4 people."))
    assert turn.changed and "4" in turn.user
    assert create("paraphrase").parts[0].needs == ()


def test_the_mild_one_has_the_words_that_the_stressor_had_when_it_was_the_only_one() -> None:
    assert create("paraphrase(strength=mild, pivots=[es])").parts[0].key() == "paraphrase(pivots=[es])"


def test_a_translator_that_is_named_helps_where_no_frame_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    odd, known = "Flurble gribbets quickly.", "I need a table for 4 people."
    spec = fixed(monkeypatch, {odd: ["Quickly flurble the gribbets."], known: ["A table for 4, that is my need."]})
    turns = after(spec.replace("strength=mild, ", ""), Turn(odd), Turn(known))
    assert turns[0].user == "Quickly flurble the gribbets." and turns[1].user != "A table for 4, that is my need."


def test_an_encoder_is_asked_only_if_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unlike:
        def cosines(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            return [0.1] * len(pairs)

    monkeypatch.setattr("dstress.stressors.paraphrase.stressor.Encoder.require", Unlike)
    said = Turn("I need a table for 4 people.")
    assert after("paraphrase", said)[0].changed
    [turn] = after("paraphrase(encoder=true)", said)
    assert turn.stress is not None and turn.stress.fallbacks == ("nothing came back in other words",)
    with pytest.raises(SpecError, match="mild"):
        create("paraphrase(strength=mild, encoder=true)")


def test_the_best_candidate_that_keeps_the_value_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    original = "i need a hotel in the north"
    spec = fixed(monkeypatch, {original: [original, "i need a hotel in the south", "find me a hotel in the north"]})
    [turn] = after(spec, Turn(original, state={"hotel-area": ("north",)}))
    assert turn.user == "find me a hotel in the north"


def test_a_turn_falls_back_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = fixed(monkeypatch, {"is it far?": ["it is far"], "yes": []})
    turns = after(spec, Turn("is it far?"), Turn("yes"), Turn(""), Turn("word " * 300))
    assert [turn.user for turn in turns] == ["is it far?", "yes", "", "word " * 300]
    assert [turn.stress and turn.stress.fallbacks for turn in turns] == [
        ("a question became none, or the reverse",),
        ("the translator gave no answer",),
        None,
        ("too long to translate",),
    ]


def test_protected_words_and_references_are_not_exchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    original = "book movie night for 3 people at the same movie place"
    back = "reserve film night for 3 folks at the same film place"
    spec = fixed(monkeypatch, {original: [back]}, Rough)
    reference = Coreference("x-place", "the same movie place")
    [turn] = after(spec, Turn(original, state={"events-name": ("movie night",)}, coreferences=(reference,)))
    assert turn.user == "reserve movie night for 3 folks at the same movie place"


def test_a_contraction_alone_is_no_paraphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = fixed(monkeypatch, {"I'm here.": ["I am here."]}, Rough)
    [turn] = after(spec, Turn("I'm here."))
    assert turn.stress is not None and turn.stress.fallbacks == ("nothing came back in other words",)


def test_only_updates_leaves_other_turns_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = fixed(monkeypatch, {"thanks": ["thank you"], "book it": ["reserve it"]}, Rough)
    state = {"hotel-book stay": ("2",)}
    turns = after(
        spec.replace("())", "(), only_updates=true)"), Turn("book it", state=state), Turn("thanks", state=state)
    )
    assert [turn.user for turn in turns] == ["reserve it", "thanks"]


HARD = [
    "thanks\x00 a\nbook\tit [x] {y} ^z/w$ @a *b \\ <e>",
    "🏨 thanks 👍🏽",
    "תודה thanks שלום",
    "thanks \x07 \ud800 bye",
    "book " * 10_000,
    "\u202eskcart thanks",
    "Thanks...bye??!! . . . [] [[ ]]",
]


def test_hard_texts_do_no_harm() -> None:
    for text, turn in zip(HARD, after("paraphrase", *map(Turn, HARD)), strict=True):
        assert turn.user.strip() and len(turn.user) < 2 * len(text) + 99


def test_hard_texts_keep_all_but_the_changed_words() -> None:
    need("apertium")
    turns = after("paraphrase(strength=mild)", *map(Turn, HARD))
    for text, turn in zip(HARD, turns, strict=True):
        rest = turn.user.replace("thank you", "thanks").replace("Thank you", "Thanks")
        assert rest.replace("goodbye", "bye").replace("reserve", "book") == text


@pytest.mark.slow
@pytest.mark.parametrize("strength", ["strong", "mild"])
def test_the_same_in_any_batch_and_after_pickling(strength: str) -> None:
    if strength == "mild":
        need("apertium")
    dialogues = list(sample("reminder", None))[:4]
    stressor = create(f"paraphrase(strength={strength})")
    stressor.prepare(Resources(sample("reminder", None).schema, dialogues, corpora.load, Path()))
    together = stressor.stress(dialogues, 3)
    copy = pickle.loads(pickle.dumps(stressor))
    assert [done for one in reversed(dialogues) for done in copy.stress([one], 3)] == together[::-1]


@pytest.mark.slow
def test_other_routes_and_chains() -> None:
    need("apertium")
    [turn] = after(
        "paraphrase(strength=mild, pivots=[ca, es-en-eo])", Turn("I am looking for a movie for 4 people, thanks")
    )
    assert turn.user.startswith("I am se") and "film" in turn.user and turn.user.endswith(", thank you")


def test_wrong_pivots_are_told_before_any_work() -> None:
    need("apertium")
    with pytest.raises(MissingExtraError, match="'xx'"):
        after("paraphrase(pivots=[xx])", Turn("hello"))
    with pytest.raises(SpecError, match="route"):
        create('paraphrase(pivots=["es-"])')
