"""CheckDST's named entities that nobody has seen: each name scrambled through the whole dialogue (sections 2.1, 3.1).

A tracker that copies what it hears follows; one that learned the names of its training data does not. Letters are
scrambled word by word into something that can be said; kinds and little words (hotel, the, of) stay, so that `the
hamilton lodge` may become `the milhatno lodge`. The same word of a name becomes the same new word everywhere: in what
both sides say, also before the name enters the state, in states, goal, acts and spans.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from random import Random
from typing import ClassVar

import msgspec

from dstress.dialogue import Dialogue, Edit, Frame, Span, State, Turn, slot_id
from dstress.resources import Resources
from dstress.stressors.base import DialogueStressor, Effect
from dstress.stressors.entities.names import DialogueNames, Spans, marked_spans, telling, tokens, words_of_name
from dstress.text.edits import apply, move, replace_places
from dstress.text.entity_words import entity_words
from dstress.text.slot_names import is_named_entity_slot

_VOWELS = frozenset("aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüý")
_TRIES = 8
_LONG = 5
_EASY = 1
_HARD = re.compile(
    "b(?=[cdfghkmnptvw])|c(?=[bdfgmnpsvw])|d(?=[bcfghklmnptvz])|f(?=[bcdghkmnpsvw])|g(?=[bcdfkmpstvw])|h(?=[bcdfghklmnprstvw])"
    "|j(?=[bcdfghjklmnpqrstvwxz])|k(?=[bcdfghkmptv])|l(?=[cghjnrwz])|m(?=[cdfghjklnrtvw])|n(?=[bfhjlmprvw])|p(?=[bcdfgkmnvw])"
    "|q(?!u)|r(?=[hjw])|s(?=[bdfgjrvz])|t(?=[bcdfgjkmnpvz]|l[^e])|v(?=[bcdfghjklmnprstvwxz])|w(?=[bcdfgjkmptvwz])"
    "|x(?=[bcdfghklmnrsvx])|z(?=[bcdklmnprtw])"
)
"""Pairs of consonants that English words seldom have side by side."""
_FIRST = re.compile("bl|br|ch|cl|cr|dr|fl|fr|gl|gr|kl|kn|kr|ph|pl|pr|sc|sh|sk|sl|sm|sn|sp|st|sw|th|tr|tw|wh|wr")
_LAST = re.compile(
    "(?:ch|ck|ct|ff|ft|ld|lf|lk|ll|lm|lp|lt|mp|nd|ng|nk|nn|nt|ph|pt|rd|rf|rk|rl|rm|rn|rp|rt|sh|sk|sp|ss|st|th)$"
)
"""Pairs of consonants that a word can start and end with."""

FindEdits = Callable[[str, Spans], list[Edit]]
"""The edits that rename what a text says, given the places that are marked as names."""

RenameValue = Callable[[str], str]
"""A named entity as a state writes it, under its new name."""

Forms = tuple[str, ...]

_replace = msgspec.structs.replace


class Renaming(DialogueStressor):
    """Gives the names that a dialogue's states hold other names."""

    languages = ("en",)
    effect: Effect = "directional"
    single_words: ClassVar[bool]
    """Whether a single word of a name of several is renamed too (see `DialogueNames`)."""

    def prepare(self, resources: Resources) -> None:
        """Know which slots hold names."""
        super().prepare(resources)
        self._entity_slots = {slot for slot in resources.schema.slots if is_named_entity_slot(slot, resources.schema)}

    @abstractmethod
    def draw_names(self, names: DialogueNames, random: Random) -> tuple[FindEdits, RenameValue] | None:
        """How texts and values are renamed; None if no name of the dialogue can be."""

    def rewrite(self, dialogue: Dialogue, random: Random) -> Dialogue:
        """The dialogue with all its parts renamed: what both sides say, states, goal, acts, spans and coreferences."""
        names = DialogueNames(dialogue, self._entity_slots, parts=self.single_words)
        drawn = self.draw_names(names, random) if names.slots else None
        if drawn is None:
            return dialogue
        find_edits, rename_value = drawn

        @cache
        def rename_text(text: str) -> str:
            """A text by itself, such as the value of a slot for other things than names."""
            return apply(text, find_edits(text, ()))

        @cache
        def rename_forms(slot: str, forms: Forms) -> Forms:
            """Other slots than those for names may hold one too, as a reminder's text does."""
            return tuple(map(rename_value if slot in self._entity_slots else rename_text, forms))

        def rename_state(state: State) -> State:
            return {slot: tuple(dict.fromkeys(rename_forms(slot, forms))) for slot, forms in state.items()}

        def rename_frame(frame: Frame, edits: Sequence[Edit]) -> Frame:
            acts = tuple(
                _replace(act, values=rename_forms(slot, act.values), canonical=rename_forms(slot, act.canonical))
                for act in frame.acts
                for slot in (slot_id(frame.service, act.slot),)
            )
            spans = tuple(Span(span.slot, *move(span.start, span.end, edits)) for span in frame.spans)
            return _replace(frame, acts=acts, spans=spans)

        def rename_turn(turn: Turn) -> Turn:
            user, system = (
                find_edits(text, marked_spans(frames, self._entity_slots))
                for text, frames in ((turn.user, turn.frames), (turn.system, turn.system_frames))
            )
            return _replace(
                turn,
                user=apply(turn.user, user),
                system=apply(turn.system, system),
                state=rename_state(turn.state),
                frames=tuple(rename_frame(frame, user) for frame in turn.frames),
                system_frames=tuple(rename_frame(frame, system) for frame in turn.system_frames),
                coreferences=tuple(
                    _replace(link, expression=rename_text(link.expression), value=rename_text(link.value))
                    for link in turn.coreferences
                ),
            )

        goal = dialogue.goal
        if goal is not None:
            inform, fallback = rename_state(goal.inform), rename_state(goal.fallback)
            goal = _replace(goal, description=rename_text(goal.description), inform=inform, fallback=fallback)
        return _replace(dialogue, turns=tuple(map(rename_turn, dialogue.turns)), goal=goal)


class Entities(Renaming):
    """Every name that the state holds is scrambled, the same way through the whole dialogue (CheckDST's NED)."""

    single_words = True

    def draw_names(self, names: DialogueNames, random: Random) -> tuple[FindEdits, RenameValue] | None:
        """Every word of a name scrambled."""
        words = _scramble_words(names, random)
        if not words:
            return None

        def find_edits(text: str, spans: Spans) -> list[Edit]:
            edits = []
            for match in names.find(text, spans):
                for token in match.tokens:
                    if new := words.get(token.word) or words.get(token.bare):
                        # Up to its last letter: a clitic that is not the name's own stays out.
                        letters = [at for at in range(token.start, token.end) if text[at].isalnum()]
                        end = letters[len(new) - 1] + 1 if len(letters) >= len(new) else token.end
                        shown = text[token.start : end]
                        edits.append(Edit(token.start, shown, in_shape(new, shown)))
            return edits

        def rename_value(value: str) -> str:
            named = telling(words_of_name(value))
            changes = [
                (token.start, token.end, in_shape(words[token.word], value[token.start : token.end]))
                for token in tokens(value)
                if token.word in named and token.word in words
            ]
            return replace_places(value, changes)

        return find_edits, rename_value


def _scramble_words(names: DialogueNames, random: Random) -> dict[str, str]:
    """The new form of each word of names that is said at the latest when its name enters the state.

    What an annotator put into the state although nobody says it would otherwise become a label that no tracker can get.
    """
    first: dict[str, int] = {}
    for index, match in names.find_in_turns():
        for token in match.tokens:
            first.setdefault(token.word, index)
            first.setdefault(token.bare, index)
    late = {
        word for name, index in names.entering.items() for word in telling(name) if first.get(word, index + 1) > index
    }
    missed = names.missed()
    late.update(word for name in names.slots if names.entity(name) in missed for word in telling(name))
    text = " ".join([text for turn in names.dialogue.turns for text in (turn.system, turn.user)]).lower()
    ordinary, used = entity_words("ordinary"), set[str]()
    scrambled = {}
    for word in dict.fromkeys(word for name in names.slots for word in telling(name) if word not in late):
        new = scramble(word, random, lambda made: made in used or made in ordinary or made in text)
        if new != word:
            scrambled[word] = new
            used.add(new)
    return scrambled


def scramble(word: str, random: Random, is_taken: Callable[[str], bool]) -> str:
    """Another word of the same letters and length, consonants for consonants; the word itself if there is none.

    A last `s` stays, so that "rosa's" stays one word with its clitic. Of a few words the easiest to say is taken.
    """
    tail = "s" if word.endswith("s") else ""
    stem = word[: len(word) - len(tail)]
    best, least = word, len(word) * 4
    for made in _others(stem, random):
        if made != stem and (cost := _cost(made + tail)) < least and not is_taken(made + tail):
            best, least = made + tail, cost
            if cost < _EASY:
                break
    if best != word:
        return best
    letters = list(stem)
    for _ in range(_TRIES):  # in any order
        _shuffle(letters, random)
        made = "".join(letters) + tail
        if made != word and not is_taken(made):
            return made
    return word


def _others(stem: str, random: Random) -> Iterator[str]:
    """Orders of a word's letters in which consonants stay with consonants and vowels with vowels.

    Then such that keep the start, if that is two consonants: few other pairs can start a word.
    """
    start = 2 if _FIRST.match(stem) and len(stem) > _LONG else 0
    for kept in (0,) * _TRIES + (start,) * (_TRIES if start else 0):
        rest = stem[kept:]
        hard = [letter for letter in rest if letter not in _VOWELS]
        soft = [letter for letter in rest if letter in _VOWELS]
        _shuffle(hard, random)
        _shuffle(soft, random)
        yield stem[:kept] + "".join([soft.pop() if letter in _VOWELS else hard.pop() for letter in rest])


def _shuffle(letters: list[str], random: Random) -> None:
    """In place, out of one random number: names have few letters, and there are many names."""
    if len(letters) < 2:
        return
    bits = random.getrandbits(64)
    for index in range(len(letters) - 1, 0, -1):
        bits, other = divmod(bits, index + 1)
        letters[index], letters[other] = letters[other], letters[index]


def _cost(word: str) -> int:
    """How hard a word is to say: odd pairs, an odd start or end."""
    cost = len(_HARD.findall(word))
    if word[0] not in _VOWELS and word[1:2] not in _VOWELS and not _FIRST.match(word):
        cost += 2
    if word[-1] not in _VOWELS and word[-2:-1] not in _VOWELS and word[-1] != "s" and not _LAST.search(word):
        cost += 1
    return cost


def in_shape(letters: str, shown: str) -> str:
    """`letters` written over the letters of `shown`, which has as many: capitals and marks between them stay."""
    if len(letters) == len(shown):
        if shown == letters or shown.islower():
            return letters
        if shown[1:].islower():
            return letters[0].upper() + letters[1:] if len(letters[0].upper()) == 1 else letters
    rest, parts = iter(letters), []
    for character in shown:
        letter = next(rest) if character.isalnum() else character
        upper = letter.upper()
        parts.append(upper if character.isupper() and len(upper) == 1 else letter)
    return "".join(parts)
