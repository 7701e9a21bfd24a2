"""Recogniser-like errors on names only: `Brindleford` as `brindle ford`, `kymmoy` as `kimoy`.

Recognisers get common words right and names wrong, which they write as they sound or take for words that they know;
Yoon et al. (2023, arXiv 2308.15053) recover proper nouns after tracking. Turns are tagged by whether a careful reader
could (`recoverability.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rapidfuzz.distance import Levenshtein

from dstress.errors import SpecError
from dstress.resources import Resources
from dstress.stressors.base import Outcome, TurnStressor
from dstress.stressors.entities.names import telling, words_of_name
from dstress.stressors.speech.confusions import Vocabulary, shipped
from dstress.stressors.speech.recoverability import Recoverability
from dstress.stressors.speech.sounds import SoundAlikes, respell, sound_of
from dstress.text.edits import replace_places
from dstress.text.slot_names import is_named_entity_slot
from dstress.text.utterance import Utterance
from dstress.text.writing_style import capitalise

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_SHORTEST, _PIECE = 4, 3
"""Letters of a word that is misheard, and of the pieces that it may fall into."""
_ALIKE = 0.6
"""So like a word another one must sound to be heard for it."""


class PhoneticNames(TurnStressor):
    """Names as a recogniser writes them, by their sound or as words that it knows; all other words stay.

    `rate` is the share of the said names that are hit, each in one word. Turns are tagged `recoverable` if every value
    in them can still be told, else `lost`.
    """

    languages = ("en",)
    guarded = False

    def __init__(self, rate: float = 1.0) -> None:
        if not 0 < rate <= 1:
            raise SpecError(f"phonetic_names: rate={rate} is no share", fix="give more than 0, at most 1")
        self.rate = rate

    def prepare(self, resources: Resources) -> None:
        """Gather the values of every slot, among which a misheard one may be told."""
        super().prepare(resources)
        heard = shipped("pocketsphinx").heard
        self._heard = frozenset(word for word in heard if len(word) >= _PIECE)
        self._alike, self._vocabulary = SoundAlikes(heard), Vocabulary(shipped("pocketsphinx").vocabulary)
        self._recoverability = Recoverability(resources.corpus, resources.schema)
        self._misheard: dict[str, tuple[str, ...]] = {}

    def rewrite_utterance(self, utterance: Utterance) -> Outcome:
        """The utterance with its names as they might be heard."""
        text, random = utterance.text, utterance.random
        changes: dict[tuple[int, int], str] = {}
        for mention in utterance.mentions:
            place = mention.start, mention.end
            if not is_named_entity_slot(mention.slot, self.schema) or place in changes or random.random() >= self.rate:
                continue
            if any(start < mention.end and mention.start < end for start, end in changes):
                continue
            ways = list(self._ways(text[mention.start : mention.end]))
            if ways:
                changes[place] = random.choice(ways)
        if not changes:
            return None
        heard = replace_places(text, ((*place, heard) for place, heard in sorted(changes.items())))
        return self._recoverability.tagged(utterance, heard)

    def _ways(self, name: str) -> Iterator[str]:
        """A name with one of its telling words as it might be heard."""
        telling_words = telling(words_of_name(name))
        for match in _WORD.finditer(name):
            word = match[0].lower()
            if word in telling_words and len(word) >= _SHORTEST:
                for other in self._mishear(word):
                    shown = capitalise(other) if match[0][0].isupper() else other
                    yield name[: match.start()] + shown + name[match.end() :]

    def _mishear(self, word: str) -> tuple[str, ...]:
        """A word as others that sound alike; one that the recogniser does not know also by its sound, or in pieces."""
        if word not in self._misheard:
            sound, is_familiar = sound_of(word), word in self._vocabulary
            pieces = [
                f"{word[:at]} {word[at:]}"
                for at in range(_PIECE, len(word) - _PIECE + 1)
                if not is_familiar and word[:at] in self._heard and word[at:] in self._heard
            ]
            alike = [
                other
                for other, _ in self._alike.find(word)
                if Levenshtein.normalized_similarity(sound, sound_of(other)) >= _ALIKE
            ]
            respelt = () if is_familiar else respell(word)
            self._misheard[word] = tuple(dict.fromkeys((*respelt, *pieces, *alike)))
        return self._misheard[word]
