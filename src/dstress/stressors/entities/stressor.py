"""CheckDST's named entities that nobody has seen: each name scrambled through the whole dialogue (sections 2.1, 3.1).

A tracker that copies what it hears follows; one that learned the names of its training data does not. Letters are
scrambled word by word into something that can be said; kinds and little words (hotel, the, of) stay, so that `the
hamilton lodge` may become `the milhatno lodge`. The same word of a name becomes the same new word everywhere: in what
both sides say, also before the name enters the state, in states, goal, acts and spans.
"""

from __future__ import annotations

from random import Random

from dstress.dialogue import Dialogue, Edit
from dstress.resources import Resources
from dstress.stressors.base import DialogueStressor, Effect
from dstress.stressors.entities.lexicon import entity_words
from dstress.stressors.entities.names import DialogueNames, Spans, name_words, telling, tokens
from dstress.stressors.entities.renamer import DialogueRenamer
from dstress.stressors.entities.scramble import in_shape, scramble
from dstress.text.slot_names import is_named_entity_slot


class Entities(DialogueStressor):
    """Every name that the state holds is scrambled, the same way through the whole dialogue (CheckDST's NED)."""

    languages = ("en",)
    effect: Effect = "directional"

    def prepare(self, resources: Resources) -> None:
        """Know which slots hold names."""
        super().prepare(resources)
        self._entity_slots = {slot for slot in resources.schema.slots if is_named_entity_slot(slot, resources.schema)}

    def rewrite(self, dialogue: Dialogue, random: Random) -> Dialogue:
        """The dialogue with its names scrambled."""
        names = DialogueNames(dialogue, self._entity_slots, parts=True)
        words = _scrambled_words(dialogue, names, random) if names.slots else {}
        if not words:
            return dialogue

        def find_edits(text: str, spans: Spans) -> list[Edit]:
            edits = []
            for match in names.find(text, spans):
                for token in match.tokens:
                    new = words.get(token.word) or words.get(token.bare)
                    if new:
                        shown = _first_letters(text[token.start : token.end], len(new))
                        edits.append(Edit(token.start, shown, in_shape(new, shown)))
            return edits

        renamer = DialogueRenamer(find_edits, lambda value: _rename_value(value, words), self._entity_slots)
        return renamer.rename(dialogue)


def _scrambled_words(dialogue: Dialogue, names: DialogueNames, random: Random) -> dict[str, str]:
    """Each word of a name that is said before the state has the name, and its new form."""
    text = " ".join([text for turn in dialogue.turns for text in (turn.system, turn.user)]).lower()
    ordinary, used = entity_words().ordinary, set[str]()
    scrambled = {}
    for word in _grounded_words(names):
        new = scramble(word, random, lambda made: made in used or made in ordinary or made in text)
        if new != word:
            scrambled[word] = new
            used.add(new)
    return scrambled


def _grounded_words(names: DialogueNames) -> list[str]:
    """The words of names that are said, in the order of the states, at the latest when their name enters the state.

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
    return list(dict.fromkeys(word for name in names.slots for word in telling(name) if word not in late))


def _rename_value(value: str, words: dict[str, str]) -> str:
    """A name as a state writes it."""
    wanted = telling(name_words(value))
    parts: list[str] = []
    done = 0
    for token in tokens(value):
        new = words.get(token.word) if token.word in wanted else None
        if new:
            parts += value[done : token.start], in_shape(new, value[token.start : token.end])
            done = token.end
    return "".join(parts) + value[done:]


def _first_letters(shown: str, count: int) -> str:
    """A text up to its last letter of `count`: a clitic that is not the name's own stays out."""
    for index, character in enumerate(shown):
        count -= character.isalnum()
        if not count:
            return shown[: index + 1]
    return shown
