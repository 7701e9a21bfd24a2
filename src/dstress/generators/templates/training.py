"""From a training corpus to what the generator needs: library, tagger of system acts, the ways to say values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dstress.dialogue import Dialogue, State, service_of, update
from dstress.generators.templates.delexical import Delexicalised, SurfaceForm, delexicalise
from dstress.generators.templates.extraction import Extractor, Selected
from dstress.generators.templates.library import Library
from dstress.generators.templates.scores import ActFit, Fluency
from dstress.generators.templates.selection import Selector
from dstress.generators.templates.system_acts import ActTagger, AnsweredTurn
from dstress.generators.templates.tokens import element_for, elements_of, flag_of, is_flag_mark, slot_of
from dstress.generators.templates.vocabulary import Vocabulary, flag_words
from dstress.text.mentions import find_mentions


class Learned(NamedTuple):
    """What a training corpus teaches."""

    library: Library
    tagger: ActTagger
    surfaces: tuple[SurfaceForm, ...]
    flag_words: dict[str, frozenset[str]]
    """The words that speak of a flag's slot: "parking", "area"."""
    vocabulary: Vocabulary


class _Turn(NamedTuple):
    """A system turn, the user's answer, and the service that was spoken of before."""

    system: str
    utterance: Delexicalised
    service: str

    @property
    def elements(self) -> list[str]:
        return elements_of(self.utterance.tokens)


def learn(dialogues: Iterable[Dialogue]) -> Learned:
    """Learn from every user turn that adds to the state; the others only show how people write."""
    turns, flag_phrases = _read(dialogues)
    tagger = ActTagger.learn(
        AnsweredTurn(turn.system, list(map(slot_of, turn.elements)), turn.service) for turn in turns
    )
    telling = [turn for turn in turns if turn.elements]
    kinds = [tagger.tag(turn.system).kind_toward(turn.elements) for turn in telling]
    selector = Selector([turn.utterance for turn in turns], flag_phrases)
    selected = [
        Selected(tokens, kind, turn.utterance.taken)
        for turn, kind in zip(telling, kinds, strict=True)
        if (tokens := selector.select(turn.utterance))
    ]
    extractor = Extractor(
        Fluency(turn.utterance.tokens for turn in turns),
        ActFit((turn.utterance.tokens, kind) for turn, kind in zip(telling, kinds, strict=True)),
        selector.vocabulary.introducing,
    )
    surfaces = [form for turn in telling if not turn.utterance.unexplained for form in turn.utterance.surfaces]
    return Learned(
        extractor.extract(selected),
        tagger,
        tuple(surfaces),
        flag_words([turn.utterance.tokens for turn in telling], selector.vocabulary.owners),
        selector.vocabulary,
    )


def _read(dialogues: Iterable[Dialogue]) -> tuple[list[_Turn], list[tuple[str, str]]]:
    """All turns, delexicalised; and the words that say flags, with their elements."""
    turns: list[_Turn] = []
    flag_phrases: list[tuple[str, str]] = []
    for dialogue in dialogues:
        before: State = {}
        service = ""
        for turn in dialogue.turns:
            utterance = delexicalise(turn, before)
            turns.append(_Turn(turn.system, utterance, service))
            if any(map(is_flag_mark, utterance.tokens)):
                flag_phrases += [
                    (turn.user[start:end], element_for(slot, turn.state[slot][0]))
                    for slot, _, start, end in find_mentions(turn, before)
                    if flag_of(turn.state[slot][0])
                ]
            service = next((service_of(slot) for slot in update(before, turn.state)), service)
            before = turn.state
    return turns, flag_phrases
