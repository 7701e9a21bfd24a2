"""Foreign utterances: the user says something that the system is not there for, and the state stays as it was.

After RADDLE's out-of-domain utterances (sections 4.1 and 4.2) and the two ways of Lee and Shalyminov (2019) to bring
them into a dialogue: a whole turn, or a foreign segment beside the user's own words. An utterance is foreign to a
corpus if it says none of its values and speaks of none of its slots: one of another corpus may well be about the same
things ("find me a restaurant") or about nothing at all ("yes, please"), and is not out of domain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal, get_args
from zlib import crc32

from dstress.dialogue import DONTCARE, Dialogue, Schema
from dstress.errors import CorpusError, SpecError, unknown
from dstress.resources import Material, Resources
from dstress.stressors.base import Outcome, Rewrite, TurnStressor, Unchanged
from dstress.stressors.ontology import Ontology, split_words
from dstress.text.mentions import find_value
from dstress.text.tables import read_table, word_sets
from dstress.text.utterance import Utterance, draw
from dstress.text.word_row import word_lists
from dstress.text.writing_style import corpus_style, style_of, write, write_behind

_ENDED = re.compile(r"[.?!…][\"')\]]*\s*$")
_TRIES = 4
"""Foreign utterances that are drawn before a turn is given up, since each may say a value."""
_FEWEST = 20
"""With fewer foreign utterances the same few would be repeated all over the corpus."""
_ANSWERS = frozenset({DONTCARE, "yes", "no", "True", "False", "true", "false"})
"""Values that are answers to a question: found in a foreign utterance, they answer something else."""

Distance = Literal["far", "near"]

_NUMBER = re.compile(r"\d")
_CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_FEWEST_WORDS, _MOST_WORDS, _FEWEST_TELLING = 4, 40, 2
_words = word_sets(__package__, "domain.toml")


class OutOfDomain(TurnStressor):
    """Foreign utterances in place of the user's (the state stays as it was), or beside the user's own words.

    A share `rate` of the turns changes. `mode=turn` replaces the utterance and marks the turn `ood`; `mode=segment`
    adds a foreign sentence before or after it. Half of them are `near` what the system does, as a flight is to a train,
    and half `far` from it; turns are tagged with the one they got. `corpus` names a corpus to take the user utterances
    of instead, such as `kvret:train`, or several, as often each; turns are tagged with the corpus. `services` limits
    it to some of that corpus's services, such as `Banks`. `part=train` and `part=test` halve the utterances.
    """

    languages = ("en",)

    def __init__(
        self,
        rate: float = 0.2,
        mode: Literal["turn", "segment"] = "turn",
        corpus: str | tuple[str, ...] | None = None,
        distances: tuple[Distance, ...] = get_args(Distance),
        services: tuple[str, ...] = (),
        part: Literal["all", "train", "test"] = "all",
    ) -> None:
        if not 0 <= rate <= 1:
            raise SpecError(f"out_of_domain: rate={rate} is not a share of the turns", fix="give a rate from 0 to 1")
        if not distances:
            raise SpecError("out_of_domain: distances is empty", fix=f"name some of {', '.join(get_args(Distance))}")
        if corpus and set(distances) != set(get_args(Distance)):
            raise SpecError("out_of_domain: distances are those of our own list, not of a corpus", fix="leave out one")
        if services and not corpus:
            raise SpecError("out_of_domain: services are those of a corpus", fix="name it too, as corpus=sgd:dev")
        self.rate, self.mode, self.distances = rate, mode, tuple(distances)
        self.corpora = (corpus,) if isinstance(corpus, str) else tuple(corpus or ())
        self.services, self.part = tuple(services), part
        self.effect = "directional" if mode == "turn" else "invariant"

    def reads(self, train: str) -> tuple[str, ...]:
        """The corpora whose utterances are foreign here."""
        return self.corpora

    def prepare(self, resources: Resources) -> None:
        """Choose the foreign utterances that touch nothing of the corpus."""
        super().prepare(resources)
        self._usual = corpus_style(resources.corpus)
        domain = Domain(resources.schema, resources.corpus)
        if self.corpora:
            corpora = {name: resources.load(name) for name in self.corpora}
            services = [service for material in corpora.values() for service in material.schema.by_name]
            for name in self.services:
                if not any(is_among(service, (name,)) for service in services):
                    raise unknown(f"service of {' and '.join(corpora)}", name, services)
            lists = {name: domain.foreign_openings(material, self.services) for name, material in corpora.items()}
        else:
            lists = {distance: own_utterances(resources.schema, domain, distance) for distance in self.distances}
        if self.part != "all":
            half = ("train", "test").index(self.part)
            for source, texts in lists.items():
                lists[source] = [text for text in texts if crc32(text.encode()) % 2 == half]
        counts = {source: len(texts) for source, texts in lists.items()}
        if not self.corpora:  # near and far are one list of ours
            counts = {"the embedded list": sum(counts.values())}
        for name, count in counts.items():
            if count < _FEWEST:
                raise CorpusError(
                    f"out_of_domain: only {count} utterances of {name} are foreign to the stressed corpus",
                    fix="give corpus= another corpus, about something else, or leave it out for the embedded list",
                )
        # Turns are tagged with the corpus without its split: `kvret:train` with `kvret`.
        self._foreign = [(source.partition(":")[0], texts) for source, texts in lists.items() if texts]

    def rewrite_utterance(self, utterance: Utterance) -> Outcome:
        """A foreign utterance at a share of the turns; turns that are out of domain already stay."""
        random = utterance.random
        if random.random() >= self.rate or utterance.turn.ood:
            return None
        style = style_of(utterance.text, utterance.turn.system, self._usual)
        for _ in range(_TRIES):
            source, texts = draw(self._foreign, random)
            foreign = draw(texts, random)
            is_added = self.ontology is not None and self.ontology.adds_value(utterance.text, foreign)
            if is_added or not _says_none(utterance, foreign):
                continue
            foreign, own = write(foreign, style), utterance.text.strip()
            if self.mode == "turn":
                return Rewrite(foreign, utterance.before, ood=True, tags=(source,))
            if random.random() < 0.5 or not own:
                return Rewrite(f"{foreign} {utterance.text}".rstrip(), tags=(source,))
            stop = "" if _ENDED.search(own) else write_behind(".", style)
            return Rewrite(f"{utterance.text.rstrip()}{stop} {foreign}", tags=(source,))
        return Unchanged("every foreign utterance said a value")

    def objection(self, utterance: Utterance, rewrite: Rewrite) -> str:
        """The foreign words say no value of the state; the user's own, where they stay, say all of theirs."""
        if self.mode == "segment":
            return super().objection(utterance, rewrite)
        return "" if _says_none(utterance, rewrite.text) else "the foreign utterance says a value"


def _says_none(utterance: Utterance, foreign: str) -> bool:
    """Whether the text says no value of the state."""
    state = utterance.turn.state
    return not any(forms[0] not in _ANSWERS and find_value(foreign, slot, forms) for slot, forms in state.items())


def own_utterances(schema: Schema, domain: Domain, distance: Distance) -> list[str]:
    """Those of our own list that touch nothing of the corpus; what is near may speak of the same kind of things."""
    texts = embedded_utterances(schema, distance)
    return [text for text in texts if (domain.is_foreign(text) if distance == "far" else not domain.says_value(text))]


def embedded_utterances(schema: Schema, distance: Distance) -> list[str]:
    """The utterances of our own list, without the topics that a service of the schema is about."""
    about = " ".join(f"{service.name} {service.description}" for service in schema.services).lower()
    return [
        text
        for topic in read_table(__package__, f"{distance}_topics.toml")["topics"].values()
        if not any(re.search(rf"(?<![a-z]){beginning}", about) for beginning in topic["covered_by"])
        for text in topic["utterances"]
    ]


@cache
def _everywhere() -> frozenset[str]:
    """Words that every corpus has, and that identify none."""
    return _words("everywhere") | word_lists().function


class Domain:
    """What a corpus is about, by the words of its schema and the values of its dialogues."""

    def __init__(self, schema: Schema, corpus: Iterable[Dialogue]) -> None:
        # Telling words of service and slot names: `RentalCars_3-pickup_location` has rental, car, pickup, location.
        words = (word for slot in schema.slots for word in _CAMEL.findall(slot.replace("_", " ")))
        singular = {word.lower().removesuffix("s") for word in words}
        self._slot_words = {word for word in singular if len(word) > 2 and word not in _everywhere()}
        self._near_words = self._slot_words | _words("booking")
        self._ontology = Ontology(schema, corpus, _everywhere())

    def is_foreign(self, text: str, *, may_book: bool = False) -> bool:
        """Whether the utterance says no value of the corpus, no word of its slots, nor (unless it may) of booking."""
        near = self._slot_words if may_book else self._near_words
        if any(word in near or word.removesuffix("s") in near for word in split_words(text)):
            return False
        return not self.says_value(text)

    def says_value(self, text: str) -> bool:
        """Whether the utterance says a value of the corpus."""
        return any(self._ontology.values_in(text))

    def foreign_openings(self, material: Material, services: Sequence[str] = ()) -> list[str]:
        """The foreign utterances that open a dialogue of another corpus, each once, in an order of their own.

        Only an opening is sure to stand by itself: later utterances answer a question that nobody asked here. Of
        `services`, where it has any of them, whoever named them says that they are foreign: these may speak of booking.
        """
        chosen = {service for service in material.schema.by_name if is_among(service, services)}
        openings = {
            dialogue.turns[0].user
            for dialogue in material
            if dialogue.turns and (not chosen or (dialogue.services and chosen.issuperset(dialogue.services)))
        }
        return sorted(
            text
            for text in openings
            # It must say enough to stand anywhere, and no number, which could be a value.
            if _FEWEST_WORDS <= len(words := split_words(text)) <= _MOST_WORDS
            and text.isprintable()
            and not _NUMBER.search(text)
            and len({*words} - _everywhere()) >= _FEWEST_TELLING
            and self.is_foreign(text, may_book=bool(chosen))
        )


def is_among(service: str, names: Sequence[str]) -> bool:
    """Whether one of the names is the service's, or that of its domain: `Banks` for `Banks_1`."""
    return any(service == name or service.startswith(f"{name}_") for name in names)
