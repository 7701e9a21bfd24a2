"""From turns to templates by what they do: an utterance teaches only if it says its acts and nothing beside."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from dstress.dialogue import Dialogue, Schema, Service, Turn, slot_id
from dstress.generators.templates.acts.annotation import ASKS, SELECTS, Doing, replied_to
from dstress.generators.templates.acts.delexical import (
    PLACEHOLDER,
    Delexicalised,
    delexicalise,
    end_sentence,
    flag_words,
    is_bare_wish,
    is_fragment,
    is_written_well,
    split_sentences,
    word_lists,
    words_in,
)
from dstress.generators.templates.scores import Fluency
from dstress.generators.templates.tokens import flag_of, slot_of, tokens_of
from dstress.resources import Material, Resources
from dstress.text.letters import name_words

_OPENER = 6
"""Words of an opener, at most."""
_USUAL = 5
"""An opener, and every word of a template, is in so many turns."""
_SAMPLED = 4
"""Words for slots of other services are learned from one dialogue in so many."""
_GENERAL = 0.35
"""A word that is said of such a share of the services is about none of them."""
_ELSEWHERE = 8
"""A direction that is said so many times as often of another slot is not this one's."""
_AGREEING = frozenset({SELECTS, "AFFIRM"})
_DENYING = frozenset({"NEGATE", "NEGATE_INTENT", "REQUEST_ALTS"})
_OTHERS = frozenset({"other", "others", "another", "else", "there", "or"})
_NUMBERS_AND_SLIPS = re.compile(r"\d|\$|\w[.?!]\w|\[\],? \[\]")
_BEFORE = re.compile(r"(\w+) \[([^\]]+)\]")
_DEFINITE = re.compile(r"\bthe (\w+)", re.IGNORECASE)
_NAME = re.compile(r"(?<!^)\b(?!I\b)[A-Z]")


class ActTemplate(NamedTuple):
    """A text with placeholders, and what kind of value stood in each (see `shape_of`).

    `after` is what it replied to (see `replied_to`). `dialogues` are those that said it, so that none gets its own
    words back; `times` how often it was said, `fluency` how usual its words are.
    """

    text: str
    shapes: tuple[tuple[str, str], ...]
    fluency: float
    after: frozenset[frozenset[str]]
    dialogues: frozenset[str]
    times: int = 1


Templates = dict[Doing, list[ActTemplate]]


class ActLibrary(NamedTuple):
    """Templates by what they do: whole utterances, and sentences to go on with. `openers` are sentences that do one
    act and name nothing: "That sounds good."
    """

    wholes: Templates
    follow: Templates
    openers: dict[str, list[str]]


def learn_for(resources: Resources, train: Material) -> ActLibrary:
    """The templates for a corpus.

    A service that training knows is spoken of as there. Any other as in the corpus's own dialogues; what those have no
    words for, in the words that training has for a slot of the same name.
    """
    known, wanted = train.schema.by_name, resources.schema.by_name
    unknown = [service for service in wanted.values() if service.name not in known]
    trained = learn(train, resources.schema, known.keys() & wanted.keys())
    if not unknown:
        return trained
    own = learn(resources.corpus, resources.schema, {service.name for service in unknown})
    shared = share(learn(islice(iter(train), 0, None, _SAMPLED), train.schema, known.keys()), unknown)
    return ActLibrary(
        trained.wholes | shared.wholes | own.wholes,
        trained.follow | shared.follow | own.follow,
        trained.openers | shared.openers,
    )


def learn(dialogues: Iterable[Dialogue], schema: Schema, services: Iterable[str]) -> ActLibrary:
    """The templates of some services."""
    names = frozenset(services)
    turns = [
        (dialogue.id, turn)
        for dialogue in dialogues
        for turn in dialogue.turns
        if not names.isdisjoint(frame.service for frame in turn.frames)
    ]
    return _Learner(turns, schema).learn()


def share(library: ActLibrary, services: Iterable[Service]) -> ActLibrary:
    """The templates that say one slot and open no intent, for other services with a slot of the same name.

    Words that are said of few services are about them, and stay with them.
    """
    parts = (library.wholes, library.follow)
    said_of: dict[str, set[str]] = defaultdict(set)
    for doing, template in ((doing, each) for part in parts for doing, found in part.items() for each in found):
        for word in words_in(template.text):
            said_of[word].add(doing.service)
    often = max(2, _GENERAL * len({doing.service for part in parts for doing in part}))
    general = frozenset(word for word, names in said_of.items() if len(names) >= often)
    shared: tuple[Templates, Templates] = {}, {}
    for lent, borrowed in zip(parts, shared, strict=True):
        for doing, templates in lent.items():
            if doing.intent or len(doing.elements) != 1:
                continue
            found = [template for template in templates if general.issuperset(words_in(template.text))]
            name = min(doing.elements).partition("-")[2]
            for service in services if found else ():
                if any(
                    name == slot.name + "=" * _is_flag(slot.values) + name.partition("=")[2] for slot in service.slots
                ):
                    own = doing._replace(service=service.name, elements=frozenset((slot_id(service.name, name),)))
                    borrowed.setdefault(own, []).extend(found)
    return ActLibrary(*shared, library.openers)


def _is_flag(values: tuple[str, ...]) -> bool:
    return bool(values) and all(map(flag_of, values))


class _Learner:
    """Learns from turns, which come with the ids of their dialogues."""

    def __init__(self, turns: list[tuple[str, Turn]], schema: Schema) -> None:
        self._turns, self._services = turns, schema.by_name
        self._used = Counter(word for _, turn in turns for word in {*words_in(turn.user)})
        self._openers = self._find_openers()
        self._fluency = Fluency(())
        self._before: Counter[tuple[str, str, str]] = Counter()

    def learn(self) -> ActLibrary:
        """All templates that the turns give."""
        made = [(dialogue, turn, delexicalise(turn, self._services)) for dialogue, turn in self._turns]
        self._fluency = Fluency(tokens_of(each.text) for _, _, each in made if each is not None)
        self._before = Counter(before for _, _, each in made if each is not None for before in _words_before(each))
        wholes: dict[Doing, dict[str, ActTemplate]] = defaultdict(dict)
        follow: dict[Doing, dict[str, ActTemplate]] = defaultdict(dict)
        for dialogue, turn, each in made:
            if each is None:
                continue
            for part in self._without_openers(each):
                self._add(wholes[part.doing], part, turn, dialogue)
            for part in _further_sentences(each):
                self._add(follow[part.doing], part, turn, dialogue)
        return ActLibrary(
            {doing: list(found.values()) for doing, found in wholes.items() if found},
            {doing: list(found.values()) for doing, found in follow.items() if found},
            self._openers,
        )

    def _add(self, templates: dict[str, ActTemplate], made: Delexicalised, turn: Turn, dialogue: str) -> None:
        text, replied = made.text, replied_to(turn)
        if not self._is_clean(made, replied):
            return
        known = templates.get(text)
        if known is None:
            shapes = tuple((slot, made.shapes[slot]) for slot in PLACEHOLDER.findall(text))
            known = ActTemplate(text, shapes, self._fluency.score(tokens_of(text)), frozenset(), frozenset(), 0)
        templates[text] = known._replace(
            after=known.after | {replied}, dialogues=known.dialogues | {dialogue}, times=known.times + 1
        )

    def _find_openers(self) -> dict[str, list[str]]:
        """For each act the usual sentences of users who do nothing else, the most usual first."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for _, turn in self._turns:
            acts = [act for frame in turn.frames for act in frame.acts]
            is_short = len(words_in(turn.user)) <= _OPENER and is_written_well(turn.user)
            if is_short and len(acts) == 1 and not acts[0].slot:
                counts[acts[0].act][end_sentence(turn.user)] += 1
        usual = {
            act: [text for text, number in texts.items() if number >= _USUAL] for act, texts in sorted(counts.items())
        }
        return {
            act: sorted(texts, key=lambda text: (-counts[act][text], text)) for act, texts in usual.items() if texts
        }

    def _without_openers(self, made: Delexicalised) -> Iterator[Delexicalised]:
        """The text as it is, and without a first sentence that is known to do one of its acts."""
        yield made
        first, *others = split_sentences(made.text)
        for act in sorted(made.doing.acts):
            if others and first in self._openers.get(act, ()):
                doing = made.doing._replace(acts=made.doing.acts - {act})
                yield from self._without_openers(made._replace(doing=doing, text=" ".join(others)))
                return

    def _is_clean(self, made: Delexicalised, replied: frozenset[str]) -> bool:
        """Whether a text says its elements, and nothing that is not among them."""
        doing, plain = made.doing, PLACEHOLDER.sub("[]", made.text)
        if not is_written_well(plain) or _NUMBERS_AND_SLIPS.search(plain):
            return False
        if _refers_to_other_slot(made.text, self._services[doing.service], doing.elements):
            return False
        if any(_NAME.search(sentence) for sentence in split_sentences(plain)):
            return False  # a name that is no placeholder
        if any(_fits_ill(made.text, slot, shape) for slot, shape in made.shapes.items()):
            return False
        if any(self._belongs_elsewhere(*before) for before in _words_before(made)):
            return False  # "going from" a destination is a wrong label
        words, lists = words_in(plain), word_lists()
        replies = not lists["replies"].isdisjoint(words[:1])
        if not replies and not doing.acts.isdisjoint(_AGREEING):
            return False  # the words would not say what is agreed to
        if replies and replied == {ASKS} and not any("=" in element for element in doing.elements):
            return False  # "Yes" to a question that wants none
        unclean = lists["unclean"] | _words_of_other_slots(self._services[doing.service], doing.elements)
        if "NEGATE" in doing.acts:
            unclean -= lists["correcting"]
        if "REQUEST_ALTS" in doing.acts:
            unclean -= _OTHERS
        if doing.acts.isdisjoint(_DENYING) and not any(each.endswith(("=no", "=dontcare")) for each in doing.elements):
            unclean |= lists["negations"]
        return unclean.isdisjoint(words) and all(self._used[word] >= _USUAL for word in words)

    def _belongs_elsewhere(self, service: str, slot: str, word: str) -> bool:
        """Whether a word before a slot is mostly said before another of the service."""
        others = (self._before[service, other.name, word] for other in self._services[service].slots)
        return word in word_lists()["directions"] and max(others) > _ELSEWHERE * self._before[service, slot, word]


def _fits_ill(text: str, slot: str, shape: str) -> bool:
    """Whether a slip stands beside a value: "1 tickets", "on tomorrow", "for it a 5 pm"."""
    slips = {
        "one": rf"\[{slot}\] (?:\w{{3,}}s|people)\b",
        "near day": rf"\bon \[{slot}\]",
        "clock": rf"\ban? \[{slot}\]",
    }
    return shape in slips and bool(re.search(slips[shape], text))


def _words_before(made: Delexicalised) -> list[tuple[str, str, str]]:
    """The service, the slot and the word before each placeholder."""
    return [(made.doing.service, match[2], match[1].lower()) for match in _BEFORE.finditer(made.text)]


def _further_sentences(made: Delexicalised) -> Iterator[Delexicalised]:
    """The sentences that say elements, open nothing and can be said after others. Flags are where their names are."""
    if made.doing.intent:
        return
    sentences = split_sentences(made.text)
    homes = {
        element: [at for at, sentence in enumerate(sentences) if not flag_words(element).isdisjoint(words_in(sentence))]
        if len(sentences) > 1
        else [0]
        for element in made.doing.elements
        if "=" in element
    }
    if any(len(places) != 1 for places in homes.values()):
        return
    lists = word_lists()
    for at, sentence in enumerate(sentences):
        elements = {slot_id(made.doing.service, slot) for slot in PLACEHOLDER.findall(sentence)}
        elements |= {element for element, places in homes.items() if places == [at]}
        words = words_in(sentence)
        goes_on = lists["replies"].isdisjoint(words[:1]) and lists["anew"].isdisjoint(words)
        if elements and goes_on and not is_fragment(sentence) and not is_bare_wish(sentence, made.shapes):
            doing = Doing(made.doing.service, "", frozenset(), frozenset(elements))
            yield made._replace(doing=doing, text=sentence)


def _refers_to_other_slot(text: str, service: Service, elements: frozenset[str]) -> bool:
    """Whether a text speaks of the value of another slot: "share the location with [contact_name]"."""
    given = {slot_of(element).partition("-")[2] for element in elements}
    named = {name_words(slot.name)[-1] for slot in service.slots if slot.name not in given}
    return any(match[1].lower() in named for match in _DEFINITE.finditer(text))


def _words_of_other_slots(service: Service, elements: frozenset[str]) -> frozenset[str]:
    """Words that speak of slots of a service that are not among the elements: names of flags, listed values."""
    given = {slot_of(element).partition("-")[2] for element in elements}
    others = [slot for slot in service.slots if slot.categorical and slot.name not in given]
    flags = [flag_words(slot_id(service.name, slot.name)) for slot in others if _is_flag(slot.values)]
    values = [words_in(value) for slot in others if not _is_flag(slot.values) for value in slot.values]
    return frozenset(word for words in (*flags, *values) for word in words)
