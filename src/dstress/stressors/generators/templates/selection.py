"""Which delexicalised utterances make templates: those that say their slots and nothing else, and sound usual.

For that one must know which words belong to what: "stay" to hotels, "table" to restaurants, "please" to all; "parking"
to its flag.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile, pairwise
from typing import NamedTuple

from dstress.dialogue import DONTCARE, service_of
from dstress.stressors.generators.templates.delexical import PLURAL, Delexicalised
from dstress.stressors.generators.templates.tokens import (
    ENDS,
    bare_name,
    element_in,
    elements_of,
    has_phrase,
    has_word,
    is_flag_mark,
    is_placeholder,
    runs,
    sentences_of,
    service_noun,
    slot_of,
    tokens_of,
    words,
)
from dstress.text import inflection
from dstress.text.letters import name_words

_LONGEST = 26
_RUN = 5
_REPLY = 6
_TELLING = 0.2  # a word that says a value so often, of all the times it is used, is a value where it stands by itself
_KNOWN, _UNUSUAL = 10, 0.07
_RARE = 80_000  # a word must be used once in so many words
_LEFT_OPEN = f"={DONTCARE}"
_NEGATED = ("=no", _LEFT_OPEN)
_ODD = frozenset('"()[]{}*/\\<>_:&+=@#%-')

_OWNED = 0.93
_OFTEN = 20
_SELDOM = 5
_INTRODUCING = 0.1
_GENERAL = 0.8
_FOREIGN = 0.05
_MOSTLY = 0.7
_SHARE = 4_000  # a word must be in one of so many words of sentences with a flag to speak of its slot


class Vocabulary(NamedTuple):
    """Words by services. Services of one noun, such as `Restaurants_1` and `Restaurants_2`, mostly share theirs."""

    owners: dict[str, str]
    """Words that are hardly ever said of another kind of service, with its noun."""
    introducing: dict[str, str]
    """Those of them by which such a service is first spoken of."""
    particular: frozenset[str]
    """Words that are said of one service and not of others of its noun: "salon" among `Services_1` to `Services_4`."""
    general: frozenset[str]
    """Words that are said of most kinds of services."""
    foreign: dict[str, frozenset[str]]
    """By nouns, words that are hardly ever said of such a service, though often of others: nobody leaves on a table."""

    @classmethod
    def of(cls, utterances: Iterable[Delexicalised]) -> Vocabulary:
        """Read off the utterances about one service."""
        # In how many utterances about each service, and about each noun, a word is said; any is said in `nouns`.
        by_service, by_noun = defaultdict[str, Counter[str]](Counter), defaultdict[str, Counter[str]](Counter)
        nouns, alike = Counter[str](), defaultdict[str, set[str]](set)
        for utterance in utterances:
            services = {service_of(element) for element in elements_of(utterance.tokens)}
            if len(services) == 1:
                [service] = services
                noun = service_noun(service)
                nouns[noun] += 1
                alike[noun].add(service)
                for word in filter(str.isalpha, set(utterance.tokens)):
                    by_service[word][service] += 1
                    by_noun[word][noun] += 1
        owners, particular = dict[str, str](), set[str]()
        for word, counts in by_noun.items():
            noun, number = min(counts.items(), key=lambda item: (-item[1], item[0]))
            if number >= _OFTEN and number >= _OWNED * counts.total():
                owners[word] = noun
        owners |= {form: noun for noun in nouns for form in (noun, f"{noun}s")}
        for word, counts in by_service.items():
            service, number = min(counts.items(), key=lambda item: (-item[1], item[0]))
            noun = service_noun(service)
            if len(alike[noun]) > 1 and number >= _SELDOM and number >= _OWNED * by_noun[word][noun]:
                particular.add(word)
        return cls(
            owners,
            {
                word: noun
                for word, noun in owners.items()
                if word in by_noun and by_noun[word][noun] >= _INTRODUCING * nouns[noun]
            },
            frozenset(particular),
            frozenset(
                word
                for word, counts in by_noun.items()
                if sum(number >= _SELDOM for number in counts.values()) >= _GENERAL * len(nouns)
            ),
            {
                noun: frozenset(
                    word
                    for word, counts in by_noun.items()
                    if (chance := counts.total() * number / nouns.total()) >= _OFTEN
                    and counts[noun] < _FOREIGN * chance
                )
                for noun, number in nouns.items()
            },
        )


def flag_words(utterances: Iterable[tuple[str, ...]], owners: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """For each flag's slot the words that speak of it: of those in sentences with one flag, the words that mostly go
    with a slot of that name; and the words of its name."""
    counts, used, slots = Counter[tuple[str, str]](), Counter[str](), dict[str, None]()
    for sentence in (sentence for tokens in utterances for sentence in sentences_of(tokens)):
        flags = {slot_of(element_in(token)) for token in sentence if is_flag_mark(token)}
        if len(flags) == 1:
            [slot] = flags
            slots[slot] = None
            spoken = [word for word in set(sentence) if word.isalpha() and owners.get(word) != word]
            used.update(spoken)
            counts.update((word, bare_name(slot)) for word in spoken)
    often = max(2, used.total() // _SHARE)
    by_name: dict[str, set[str]] = defaultdict(set)
    for (word, name), number in counts.items():
        if (number >= often and number >= _MOSTLY * used[word]) or (len(word) > 3 and word in name):
            by_name[name].add(word)
    return {slot: frozenset({*by_name[bare_name(slot)], *name_words(slot)}) for slot in slots}


class Selector:
    """Knows the words of the training corpus that say values, and those that are too rare to be right.

    `vocabulary` tells which words belong to which services.
    """

    def __init__(self, utterances: Sequence[Delexicalised], flag_phrases: Iterable[tuple[str, str]]) -> None:
        """`flag_phrases` are the words that said a flag, with the flag's element."""
        self._used, as_values = Counter[str](), Counter[str]()
        # What is said before values of which slots: "leaving from" goes with no destination, whatever a label says.
        self._before: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
        for utterance in utterances:
            self._used.update(utterance.tokens)
            as_values.update(" ".join(tokens_of(form.words)) for form in utterance.surfaces)
            for context, name in _contexts(utterance.tokens):
                self._before[context][name] += 1
        self._often = min(5, 2 + self._used.total() // _RARE)
        self._values = frozenset(
            phrase
            for phrase, number in as_values.items()
            if number >= 2 and (" " in phrase or number >= _TELLING * (number + self._used[phrase]))
        )
        # The words that speak of a flag's slot: of all the times they are used, they mostly say it.
        counts = Counter((word, slot_of(element)) for phrase, element in flag_phrases for word in {*tokens_of(phrase)})
        self._flag_slots = {
            word: slot
            for (word, slot), number in sorted(counts.items())
            if number >= 3 and number >= 0.5 * self._used[word]
        }
        self.vocabulary = Vocabulary.of(utterances)

    def select(self, utterance: Delexicalised) -> tuple[str, ...]:
        """The utterance without the sentences after the last that says a slot; empty if it makes no template."""
        if utterance.unexplained:
            return ()
        sentences = [list(sentence) for sentence in sentences_of(utterance.tokens)]
        while sentences and not elements_of(sentences[-1]):
            sentences.pop()
        if not sentences or any(map(_asks_back, sentences)):
            return ()
        for sentence in sentences:
            is_long = len(sentence) > _REPLY and not has_word(sentence, "joining.requests")
            if not elements_of(sentence) and (sentence[-1] == "?" or is_long):
                return ()  # neither a short reply nor a request: "can you tell me more ?"
            if sentence[0] == "," and len(sentence) > 1:
                sentence.pop(0)
            # A mark at the end; no question mark after what is no question.
            opening = next(token for token in sentence if not is_flag_mark(token))
            if sentence[-1] not in ENDS:
                sentence.append("?" if opening in words("joining.asking") else ".")
            elif sentence[-1] != "?" or ("," not in sentence and opening in words("joining.stating")):
                sentence[-1] = "."
        tokens = _normalise(token for sentence in sentences for token in sentence)
        if not self._is_clean(tokens):
            return ()
        for context, name in _contexts(tokens):
            slots = self._before[context]
            if slots.total() >= _KNOWN and slots[name] < _UNUSUAL * slots.total():
                return ()
        return tokens

    def _is_clean(self, tokens: Sequence[str]) -> bool:
        """Whether tokens say their own elements and nothing else."""
        elements = elements_of(tokens)
        plain = [token for token in tokens if not is_flag_mark(token)]
        text, units = " ".join(plain), inflection.table()["units"].values()
        if len(plain) > _LONGEST or not _ODD.isdisjoint(plain):
            return False
        for article, word in pairwise(plain):
            if article == "a" and word[0] in "aeio" and not word.startswith(("one", "eu")):
                return False  # "a attraction"
            if article == "an" and word.isalpha() and word[0] not in "aeiouh":
                return False  # "an place"
        lexical = [token for token in plain if not is_placeholder(token) and token != PLURAL]
        if has_word(lexical, "unclean") or has_word(lexical, "numbers") or has_phrase(text, "phrases"):
            return False
        for first, second, third, after in zip(plain, plain[1:], plain[2:], (*plain[3:], "."), strict=False):
            is_people = is_placeholder(third) and bare_name(element_in(third)) == "people"
            if (first, second) == ("it", "for") and is_people and after not in units:
                return False  # "i would like it for 33" leaves open what a number of people is for
        if any(self._used[token] < self._often or token[0].isdigit() for token in lexical):
            return False
        if not any(element.endswith(_NEGATED) for element in elements) and has_word(lexical, "negations"):
            return False
        if not any(element.endswith(_LEFT_OPEN) for element in elements) and (
            has_word(lexical, "openness") or has_phrase(" ".join(lexical), "left_open")
        ):
            return False
        # Words outside the placeholders that say a value, speak of a flag, or name another service.
        own = {slot_of(element) for element in elements}
        nouns = {service_noun(service_of(element)) for element in elements}
        outside = ["|" if is_placeholder(token) else token for token in plain]
        if any(self.vocabulary.owners.get(token, "") not in ("", *nouns) for token in outside):
            return False
        if all(not self.vocabulary.foreign.get(noun, frozenset()).isdisjoint(outside) for noun in nouns):
            return False
        return not any(
            run in self._values or ((slot := self._flag_slots.get(run)) and slot not in own)
            for run in runs(outside, _RUN)
        )


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
    plain = (token for token in sentence if not is_flag_mark(token))
    first, second, *_ = (*dropwhile(words("joining.replies").__contains__, plain), "", "")
    wants = first in words("joining.wanting") and bool(second) and second not in words("joining.suggesting")
    return wants or (first in words("joining.asking") and second in words("joining.asked_of"))


def _contexts(tokens: Sequence[str]) -> Iterator[tuple[tuple[str, str, str], str]]:
    """For each value its service's noun and the two tokens before it, and its slot's bare name."""
    plain = ["", "<", *(token for token in tokens if not is_flag_mark(token))]
    for first, second, token in zip(plain, plain[1:], plain[2:], strict=False):
        if is_placeholder(token):
            slot = element_in(token)
            yield (service_noun(service_of(slot)), first, second), bare_name(slot)
