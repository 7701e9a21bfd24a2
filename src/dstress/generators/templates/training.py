"""From a training corpus to what the generator needs: the library, the listener, the ways to say values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dstress.dialogue import Dialogue, State, service_of, update
from dstress.generators.templates.delexical import Delexicalised, Surface, delexicalised
from dstress.generators.templates.fluency import Fluency
from dstress.generators.templates.library import Fit, Lesson, Library, build
from dstress.generators.templates.selection import Cleaner
from dstress.generators.templates.system_acts import Exchange, Listener
from dstress.generators.templates.tokens import bare, element, elements_of, flag_of, is_mark, sentences_of, slot_of
from dstress.generators.templates.vocabulary import Vocabulary
from dstress.text import mentions as values
from dstress.text.letters import name_words

_MOSTLY = 0.7
_SHARE = 4_000


class Learned(NamedTuple):
    """What a training corpus teaches."""

    library: Library
    listener: Listener
    surfaces: tuple[Surface, ...]
    nouns: dict[str, frozenset[str]]
    """The words that speak of a flag's slot: "parking", "area"."""
    vocabulary: Vocabulary


class _Heard(NamedTuple):
    system: str
    said: Delexicalised
    service: str


def learn(dialogues: Iterable[Dialogue]) -> Learned:
    """Learn from every user turn that adds to the state; the others only show how people write."""
    heard: list[_Heard] = []
    flags: list[tuple[str, str]] = []
    for dialogue in dialogues:
        before: State = {}
        service = ""
        for turn in dialogue.turns:
            heard.append(_Heard(turn.system, delexicalised(turn, before), service))
            if "{" in " ".join(heard[-1].said.tokens):
                flags += [
                    (turn.user[one.start : one.end], element(one.slot, turn.state[one.slot][0]))
                    for one in values.find_mentions(turn, before)
                    if flag_of(turn.state[one.slot][0])
                ]
            service = next((service_of(slot) for slot in update(before, turn.state)), service)
            before = turn.state
    telling = [one for one in heard if elements_of(one.said.tokens)]
    listener = Listener(
        Exchange(one.system, [slot_of(part) for part in elements_of(one.said.tokens)], one.service) for one in heard
    )
    kinds = [listener.hear(one.system).toward(elements_of(one.said.tokens)) for one in telling]
    cleaner = Cleaner([one.said for one in heard], flags)
    lessons = [
        Lesson(tokens, kind, one.said.taken)
        for one, kind in zip(telling, kinds, strict=True)
        if (tokens := cleaner.normal(one.said))
    ]
    fluency = Fluency(one.said.tokens for one in heard)
    fit = Fit((one.said.tokens, kind) for one, kind in zip(telling, kinds, strict=True))
    surfaces = [surface for one in telling if not one.said.unexplained for surface in one.said.surfaces]
    return Learned(
        build(lessons, fluency, fit, cleaner.vocabulary.introducing),
        listener,
        tuple(surfaces),
        _nouns([one.said.tokens for one in telling], cleaner.vocabulary.owners),
        cleaner.vocabulary,
    )


def _nouns(utterances: Iterable[tuple[str, ...]], owners: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Of the words in sentences with one flag, those that mostly go with a slot of that name."""
    counted: Counter[tuple[str, str]] = Counter()
    used: Counter[str] = Counter()
    slots: dict[str, None] = {}
    for tokens in utterances:
        for sentence in sentences_of(tokens):
            flags = [slot_of(token[1:-1]) for token in sentence if is_mark(token)]
            if len(set(flags)) == 1:
                slots[flags[0]] = None
                for word in set(sentence):
                    if word.isalpha() and owners.get(word) != word:
                        counted[word, bare(flags[0])] += 1
                        used[word] += 1
    often = max(2, sum(used.values()) // _SHARE)
    telling = {
        name: frozenset(
            word
            for (word, of), number in counted.items()
            if of == name and ((number >= often and number >= _MOSTLY * used[word]) or (len(word) > 3 and word in name))
        )
        for name in {bare(slot): None for slot in slots}
    }
    return {slot: telling[bare(slot)] | frozenset(name_words(slot)) for slot in slots}
