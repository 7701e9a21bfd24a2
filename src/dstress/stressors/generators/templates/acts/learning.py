"""Templates, learned from delexicalised utterances and filed by what these do (`ActKey`).

An utterance becomes a template only if it says its acts and elements, and nothing beside.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from dstress.dialogue import Dialogue, Schema, Service, Turn, slot_id
from dstress.resources import Material, Resources
from dstress.stressors.generators.goals import flag_of
from dstress.stressors.generators.templates.acts import turns
from dstress.stressors.generators.templates.acts.turns import (
    PLACEHOLDER,
    ActKey,
    Delexicalised,
    split_sentences,
    words_in,
)
from dstress.stressors.generators.templates.learning import Fluency
from dstress.stressors.generators.templates.tokens import has_word, slot_of, tokens_of, words
from dstress.text.letters import name_words

_LONGEST_OPENER = 6
"""Words."""
_USUAL_TURNS = 5
"""An opener, and every word of a template, must be in at least so many turns."""
_SAMPLING_STEP = 4
"""Templates to share with other services are learned from one dialogue in so many, to save time."""
_GENERAL_SHARE = 0.35
"""A word that is said of such a share of the services belongs to none of them."""
_OTHER_SLOT_RATIO = 8
"""A preposition of direction that stands so many times as often before another slot is wrong before this one."""
_AGREEING_ACTS = frozenset({turns.SELECT, "AFFIRM"})
_DENYING_ACTS = frozenset({"NEGATE", "NEGATE_INTENT", "REQUEST_ALTS"})
_ALTERNATIVE_WORDS = frozenset({"other", "others", "another", "else", "there", "or"})
_NUMBERS_AND_SLIPS = re.compile(r"\d|\$|\w[.?!]\w|\[\],? \[\]")
_BEFORE = re.compile(r"(\w+) \[([^\]]+)\]")
_DEFINITE = re.compile(r"\bthe (\w+)", re.IGNORECASE)
_NAME = re.compile(r"(?<!^)\b(?!I\b)[A-Z]")


class ActTemplate(NamedTuple):
    """A text with placeholders, and where training has it."""

    text: str
    shapes: tuple[tuple[str, str], ...]
    """Each placeholder with the shape of the value that stood in it (`shape_of`)."""
    fluency: float
    """How usual its words are."""
    after: frozenset[frozenset[str]] = frozenset()
    """The system's acts that it replied to (`replied_to`)."""
    dialogues: frozenset[str] = frozenset()
    """Those that have it: no dialogue gets only its own words back."""
    times: int = 0
    """How often it was said."""


Templates = dict[ActKey, list[ActTemplate]]


class ActLibrary(NamedTuple):
    """Templates by what they do."""

    wholes: Templates
    """Whole utterances."""
    follow: Templates
    """Sentences that can follow others."""
    openers: dict[str, list[str]]
    """By act, the sentences that do it and name no slot, the most usual first: "That sounds good."."""


def learn_for(resources: Resources, train: Material) -> ActLibrary:
    """The templates for a corpus.

    For a service of the training corpus they come from there. For any other they come from the corpus's own dialogues;
    what these lack is filled in with training's templates for slots of the same name.
    """
    trained_on, at_hand = train.schema.by_name, resources.schema.by_name
    unknown = [service for service in at_hand.values() if service.name not in trained_on]
    trained = learn(train, resources.schema, trained_on.keys() & at_hand.keys())
    if not unknown:
        return trained
    own = learn(resources.corpus, resources.schema, {service.name for service in unknown})
    shared = share(learn(islice(iter(train), 0, None, _SAMPLING_STEP), train.schema, trained_on.keys()), unknown)
    return ActLibrary(
        trained.wholes | shared.wholes | own.wholes,
        trained.follow | shared.follow | own.follow,
        trained.openers | shared.openers,
    )


def share(library: ActLibrary, services: Iterable[Service]) -> ActLibrary:
    """The templates that say one slot and open no intent, for other services with a slot of the same name.

    A template with a word that is said of few services stays with its own service.
    """
    parts = (library.wholes, library.follow)
    services_of_word: dict[str, set[str]] = defaultdict(set)
    for key, templates in chain.from_iterable(part.items() for part in parts):
        for word in (word for template in templates for word in words_in(template.text)):
            services_of_word[word].add(key.service)
    fewest = max(2, _GENERAL_SHARE * len({key.service for part in parts for key in part}))
    general = frozenset(word for word, names in services_of_word.items() if len(names) >= fewest)
    shared: tuple[Templates, Templates] = {}, {}
    for lent, borrowed in zip(parts, shared, strict=True):
        for key, templates in lent.items():
            if key.intent or len(key.elements) != 1:
                continue
            lendable = [template for template in templates if general.issuperset(words_in(template.text))]
            name = min(key.elements).partition("-")[2]
            for service in services if lendable else ():
                slots = {slot.name + "=" * _is_flag(slot.values) + name.partition("=")[2] for slot in service.slots}
                if name in slots:
                    own = key._replace(service=service.name, elements=frozenset((slot_id(service.name, name),)))
                    borrowed.setdefault(own, []).extend(lendable)
    return ActLibrary(*shared, library.openers)


def _is_flag(values: tuple[str, ...]) -> bool:
    return bool(values) and all(map(flag_of, values))


def learn(dialogues: Iterable[Dialogue], schema: Schema, services: Iterable[str]) -> ActLibrary:
    """The templates of some services, from dialogues with this schema."""
    names = frozenset(services)
    about_services = [
        (dialogue.id, turn)
        for dialogue in dialogues
        for turn in dialogue.turns
        if not names.isdisjoint(frame.service for frame in turn.frames)
    ]
    examples = [
        (dialogue, turns.replied_to(turn), utterance)
        for dialogue, turn in about_services
        if (utterance := turns.delexicalise(turn, schema.by_name)) is not None
    ]
    openers = _find_openers([turn for _, turn in about_services])
    fluency = Fluency(tokens_of(utterance.text) for *_, utterance in examples)
    utterances = [utterance for _, _, utterance in examples]
    template_filter = _TemplateFilter(schema, (turn.user for _, turn in about_services), utterances)
    wholes, follow = (defaultdict[ActKey, dict[str, ActTemplate]](dict) for _ in range(2))
    for dialogue, replied, utterance in examples:
        parts = [(wholes, part) for part in _without_openers(utterance, openers)]
        parts += [(follow, part) for part in _further_sentences(utterance)]
        for library, part in parts:
            if not template_filter.accepts(part, replied):
                continue
            templates, text = library[part.key], part.text
            if text not in templates:
                shapes = tuple((slot, part.shapes[slot]) for slot in PLACEHOLDER.findall(text))
                templates[text] = ActTemplate(text, shapes, fluency.score(tokens_of(text)))
            after, dialogues_before, times = templates[text][-3:]
            templates[text] = templates[text]._replace(
                after=after | {replied}, dialogues=dialogues_before | {dialogue}, times=times + 1
            )
    whole, further = ({key: [*each.values()] for key, each in part.items()} for part in (wholes, follow))
    return ActLibrary(whole, further, openers)


def _find_openers(turns_of_services: Iterable[Turn]) -> dict[str, list[str]]:
    """For each act the frequent short utterances that do only this act, the most frequent first."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for turn in turns_of_services:
        acts = [act for frame in turn.frames for act in frame.acts]
        is_short = len(words_in(turn.user)) <= _LONGEST_OPENER and turns.is_written_well(turn.user)
        if is_short and len(acts) == 1 and not acts[0].slot:
            counts[acts[0].act][turns.end_sentence(turn.user)] += 1
    usual = {act: {text: n for text, n in texts.items() if n >= _USUAL_TURNS} for act, texts in sorted(counts.items())}
    return {act: sorted(texts, key=lambda text: (-texts[text], text)) for act, texts in usual.items() if texts}


def _without_openers(utterance: Delexicalised, openers: dict[str, list[str]]) -> Iterator[Delexicalised]:
    """The utterance itself, and without its first sentence where that is an opener for one of its acts."""
    yield utterance
    first, *others = split_sentences(utterance.text)
    for act in sorted(utterance.key.acts):
        if others and first in openers.get(act, ()):
            key = utterance.key._replace(acts=utterance.key.acts - {act})
            yield from _without_openers(utterance._replace(key=key, text=" ".join(others)), openers)
            return


def _further_sentences(utterance: Delexicalised) -> Iterator[Delexicalised]:
    """The sentences of an utterance that say elements and can follow other sentences.

    There are none where the utterance opens an intent, or where a flag's words are in no sentence or in several.
    """
    if utterance.key.intent:
        return
    sentences = split_sentences(utterance.text)
    sentences_of_flags: dict[str, list[int]] = {}
    for element in utterance.key.elements:
        if "=" in element:
            flag_words = turns.flag_words(element)
            places = [at for at, sentence in enumerate(sentences) if not flag_words.isdisjoint(words_in(sentence))]
            sentences_of_flags[element] = places if len(sentences) > 1 else [0]
    if any(len(places) != 1 for places in sentences_of_flags.values()):
        return
    for at, sentence in enumerate(sentences):
        elements = {slot_id(utterance.key.service, slot) for slot in PLACEHOLDER.findall(sentence)}
        elements |= {element for element, places in sentences_of_flags.items() if places == [at]}
        spoken = words_in(sentence)
        can_follow = not has_word(spoken[:1], "acts.replies") and not has_word(spoken, "acts.anew")
        needs_question = turns.is_fragment(sentence) or turns.is_bare_wish(sentence, utterance.shapes)
        if elements and can_follow and not needs_question:
            key = ActKey(utterance.key.service, "", frozenset(), frozenset(elements))
            yield utterance._replace(key=key, text=sentence)


class _TemplateFilter:
    """Decides whether a delexicalised text says its acts and elements and nothing else.

    What is usual it counts in all utterances about the services.
    """

    def __init__(self, schema: Schema, utterances: Iterable[str], examples: Iterable[Delexicalised]) -> None:
        self._services = schema.by_name
        self._word_counts = Counter(word for utterance in utterances for word in {*words_in(utterance)})
        self._words_before_slots = Counter(before for utterance in examples for before in _words_before(utterance))

    def accepts(self, utterance: Delexicalised, replied: frozenset[str]) -> bool:
        """Whether a text can be a template; `replied` are the system's acts that it replies to."""
        key, plain = utterance.key, PLACEHOLDER.sub("[]", utterance.text)
        if not turns.is_written_well(plain) or _NUMBERS_AND_SLIPS.search(plain):
            return False
        bare_names = {slot_of(element).partition("-")[2] for element in key.elements}
        service = self._services[key.service]
        others = [slot for slot in service.slots if slot.name not in bare_names]
        nouns = {name_words(slot.name)[-1] for slot in others}
        if any(match[1].lower() in nouns for match in _DEFINITE.finditer(utterance.text)):
            return False  # "share the location with [contact_name]" refers to the value of another slot
        if any(_NAME.search(sentence) for sentence in split_sentences(plain)):
            return False  # a name that is no placeholder
        for slot, shape in utterance.shapes.items():
            slips = {
                "one": rf"\[{slot}\] (?:\w{{3,}}s|people)\b",  # "1 tickets"
                "near day": rf"\bon \[{slot}\]",  # "on tomorrow"
                "clock": rf"\ban? \[{slot}\]",  # "for it a 5 pm"
            }
            if shape in slips and re.search(slips[shape], utterance.text):
                return False
        for _, name, word in _words_before(utterance):
            if word in words("acts.directions"):
                elsewhere = max(self._words_before_slots[service.name, other.name, word] for other in service.slots)
                if elsewhere > _OTHER_SLOT_RATIO * self._words_before_slots[service.name, name, word]:
                    return False  # "going from" a destination is a wrong label
        spoken = words_in(plain)
        replies = has_word(spoken[:1], "acts.replies")
        if not replies and not key.acts.isdisjoint(_AGREEING_ACTS):
            return False  # the words would not say what is agreed to
        if replies and replied == {turns.REQUEST} and not any("=" in element for element in key.elements):
            return False  # "Yes" to a question that wants none
        foreign = set(words("acts.unclean"))
        # Words that speak of other slots of the service: names of flags, listed values.
        for other in others:
            if other.categorical and _is_flag(other.values):
                foreign |= turns.flag_words(slot_id(service.name, other.name))
            elif other.categorical:
                foreign.update(word for value in other.values for word in words_in(value))
        if "NEGATE" in key.acts:
            foreign -= words("acts.correcting")
        if "REQUEST_ALTS" in key.acts:
            foreign -= _ALTERNATIVE_WORDS
        if key.acts.isdisjoint(_DENYING_ACTS) and not any(each.endswith(("=no", "=dontcare")) for each in key.elements):
            foreign |= words("acts.negations")
        return foreign.isdisjoint(spoken) and all(self._word_counts[word] >= _USUAL_TURNS for word in spoken)


def _words_before(utterance: Delexicalised) -> list[tuple[str, str, str]]:
    """The service, the slot and the word before each placeholder."""
    return [(utterance.key.service, match[2], match[1].lower()) for match in _BEFORE.finditer(utterance.text)]
