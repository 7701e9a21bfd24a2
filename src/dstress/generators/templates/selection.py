"""Which delexicalised utterances make templates: those that say their slots and nothing else, and sound usual."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from dstress.dialogue import DONTCARE, service_of
from dstress.generators.templates.delexical import PLURAL, Delexicalised
from dstress.generators.templates.tokens import (
    bare_name,
    element_in,
    elements_of,
    ends_sentence,
    is_flag_mark,
    is_placeholder,
    runs,
    sentences_of,
    service_noun,
    slot_of,
    tokens_of,
    words,
)
from dstress.generators.templates.vocabulary import Vocabulary
from dstress.text import inflection

_LONGEST = 26
_RUN = 5
_REPLY = 6
_TELLING = 0.2
"""A word that says a value so often, of all the times it is used, is a value where it stands by itself."""
_KNOWN, _UNUSUAL = 10, 0.07
_RARE = 80_000
"""A word must be used once in so many words."""
_LEFT_OPEN = f"={DONTCARE}"
_NEGATED = ("=no", _LEFT_OPEN)
_ODD = frozenset('"()[]{}*/\\<>_:&+=@#%-')


class Selector:
    """Knows the words of the training corpus that say values, and those that are too rare to be right.

    `vocabulary` tells which words belong to which services.
    """

    def __init__(self, utterances: Sequence[Delexicalised], flag_phrases: Iterable[tuple[str, str]]) -> None:
        """`flag_phrases` are the words that said a flag, with the flag's element."""
        self._used: Counter[str] = Counter()
        for utterance in utterances:
            self._used.update(utterance.tokens)
        total = sum(self._used.values())
        self._often = min(5, 2 + total // _RARE)
        as_values: Counter[str] = Counter()
        for utterance in utterances:
            as_values.update(" ".join(tokens_of(form.words)) for form in utterance.surfaces)
        self._values = frozenset(
            phrase
            for phrase, number in as_values.items()
            if number >= 2 and (" " in phrase or number >= _TELLING * (number + self._used[phrase]))
        )
        self._flag_slots = _flag_slots(flag_phrases, self._used)
        self.vocabulary = Vocabulary.of(utterances)
        self._contexts = _Contexts(utterances)

    def select(self, utterance: Delexicalised) -> tuple[str, ...]:
        """The utterance without the sentences after the last that says a slot; empty if it makes no template."""
        if utterance.unexplained:
            return ()
        sentences = [list(sentence) for sentence in sentences_of(utterance.tokens)]
        while sentences and not elements_of(sentences[-1]):
            sentences.pop()
        if not sentences or any(map(_asks_back, sentences)) or any(map(_is_idle, sentences)):
            return ()
        for sentence in sentences:
            if sentence[0] == "," and len(sentence) > 1:
                sentence.pop(0)
            _set_usual_mark(sentence)
        tokens = _normalise(token for sentence in sentences for token in sentence)
        return tokens if self._is_clean(tokens) and self._contexts.are_usual(tokens) else ()

    def _is_clean(self, tokens: Sequence[str]) -> bool:
        """Whether tokens say their own elements and nothing else."""
        elements = elements_of(tokens)
        plain = [token for token in tokens if not is_flag_mark(token)]
        if len(plain) > _LONGEST or not _ODD.isdisjoint(plain) or _has_wrong_article(plain):
            return False
        lexical = [token for token in plain if not is_placeholder(token) and token != PLURAL]
        if not words("unclean").isdisjoint(lexical) or not words("numbers").isdisjoint(lexical):
            return False
        if any(phrase in " ".join(plain) for phrase in words("phrases")) or _counts_nothing(plain):
            return False
        if any(self._used[token] < self._often or token[0].isdigit() for token in lexical):
            return False
        if not any(element.endswith(_NEGATED) for element in elements) and not words("negations").isdisjoint(lexical):
            return False
        if not any(element.endswith(_LEFT_OPEN) for element in elements) and _leaves_open(lexical):
            return False
        return not self._leaks(plain, elements)

    def _leaks(self, tokens: Sequence[str], elements: Sequence[str]) -> bool:
        """Whether words outside the placeholders say a value, speak of a flag, or name another service."""
        own = {slot_of(element) for element in elements}
        services = {service_noun(service_of(element)) for element in elements}
        lexical = ["|" if is_placeholder(token) else token for token in tokens]
        if any(self.vocabulary.owners.get(token, "") not in ("", *services) for token in lexical):
            return True
        if all(not self.vocabulary.foreign.get(noun, frozenset()).isdisjoint(lexical) for noun in services):
            return True
        for run in runs(lexical, _RUN):
            if run in self._values:
                return True
            if (slot := self._flag_slots.get(run)) and slot not in own:
                return True
        return False


def _normalise(tokens: Iterable[str]) -> tuple[str, ...]:
    """One form for what the value decides: "a" before a placeholder, the plural of what is counted, one mark."""
    units = inflection.table()["units"]
    normal: list[str] = []
    for token in tokens:
        if is_placeholder(token) and normal and normal[-1] == "an":
            normal[-1] = "a"
        if normal and is_placeholder(normal[-1]) and token in units and token != "star":
            token = units[token]
        normal.append("." if token == "!" else token)
    return tuple(normal)


def _asks_back(sentence: Sequence[str]) -> bool:
    """Whether a sentence asks about something named before: "does it have free parking ?"."""
    plain = [token for token in sentence if not is_flag_mark(token)]
    skipped = next((at for at, token in enumerate(plain) if token not in words("joining.replies")), len(plain))
    if len(plain) < skipped + 2:
        return False
    first, second = plain[skipped : skipped + 2]
    wants = first in words("joining.wanting") and second not in words("joining.suggesting")
    return wants or (first in words("joining.asking") and second in words("joining.asked_of"))


def _is_idle(sentence: Sequence[str]) -> bool:
    """Whether a sentence that says no slot is neither a short reply nor a request: "can you tell me more ?"."""
    if elements_of(sentence):
        return False
    return sentence[-1] == "?" or (len(sentence) > _REPLY and words("joining.requests").isdisjoint(sentence))


def _set_usual_mark(sentence: list[str]) -> None:
    """A mark at the end; no question mark after what is no question."""
    opening = next(token for token in sentence if not is_flag_mark(token))
    if not ends_sentence(sentence[-1]):
        sentence.append("?" if opening in words("joining.asking") else ".")
    elif sentence[-1] != "?" or ("," not in sentence and opening in words("joining.stating")):
        sentence[-1] = "."


def _has_wrong_article(tokens: Sequence[str]) -> bool:
    """Whether there is "a attraction" or "an place"."""
    return any(
        (article == "a" and word[0] in "aeio" and not word.startswith(("one", "eu")))
        or (article == "an" and word.isalpha() and word[0] not in "aeiouh")
        for article, word in pairwise(tokens)
    )


def _leaves_open(tokens: Sequence[str]) -> bool:
    """Whether words say that something does not matter."""
    text = " ".join(tokens)
    return not words("openness").isdisjoint(tokens) or any(phrase in text for phrase in words("left_open"))


def _counts_nothing(tokens: Sequence[str]) -> bool:
    """Whether it is open what a number of people is for: "i would like it for 33"."""
    followed = zip(tokens, tokens[1:], tokens[2:], (*tokens[3:], "."), strict=False)
    units = inflection.table()["units"].values()
    return any(
        (first, second) == ("it", "for") and is_placeholder(third) and bare_name(element_in(third)) == "people"
        for first, second, third, after in followed
        if after not in units
    )


class _Contexts:
    """What is said before values of which slots: "leaving from" goes with no destination, whatever a label says."""

    def __init__(self, utterances: Iterable[Delexicalised]) -> None:
        self._of_slot: Counter[tuple[str, str, str, str]] = Counter()
        self._of_any: Counter[tuple[str, str, str]] = Counter()
        for utterance in utterances:
            for service, name, first, second in _contexts(utterance.tokens):
                self._of_slot[service, name, first, second] += 1
                self._of_any[service, first, second] += 1

    def are_usual(self, tokens: Sequence[str]) -> bool:
        """Whether every value stands after words that are said of its slot."""
        for service, name, first, second in _contexts(tokens):
            number = self._of_any[service, first, second]
            if number >= _KNOWN and self._of_slot[service, name, first, second] < _UNUSUAL * number:
                return False
        return True


def _contexts(tokens: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """For each value its service's noun, its slot's bare name, and the two tokens before it."""
    plain = ["<", *(token for token in tokens if not is_flag_mark(token))]
    return [
        (
            service_noun(service_of(element_in(token))),
            bare_name(element_in(token)),
            plain[at - 2] if at > 1 else "",
            plain[at - 1],
        )
        for at, token in enumerate(plain)
        if is_placeholder(token)
    ]


def _flag_slots(flag_phrases: Iterable[tuple[str, str]], used: Counter[str]) -> dict[str, str]:
    """The words that speak of a flag's slot: of all the times they are used, they mostly say it."""
    counts: Counter[tuple[str, str]] = Counter()
    for phrase, element in flag_phrases:
        for word in set(tokens_of(phrase)):
            counts[word, slot_of(element)] += 1
    return {word: slot for (word, slot), number in sorted(counts.items()) if number >= 3 and number >= 0.5 * used[word]}
