"""Foreign utterances: the user says something that the system is not there for, and the state stays as it was.

After RADDLE's out-of-domain utterances (sections 4.1 and 4.2) and the two ways of Lee and Shalyminov (2019) to bring
them into a dialogue: a whole turn, or a foreign segment beside the user's own words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, get_args
from zlib import crc32

from dstress.dialogue import DONTCARE, Schema
from dstress.errors import CorpusError, SpecError, unknown
from dstress.resources import Material, Resources
from dstress.stressors.base import Outcome, Rewrite, TurnStressor, Unchanged
from dstress.stressors.out_of_domain.domain import Domain, is_among
from dstress.text import mentions as values
from dstress.text.tables import read_table
from dstress.text.utterance import Utterance
from dstress.text.writing_style import WritingStyle, corpus_style, style_of, write

_ENDED = re.compile(r"[.?!…][\"')\]]*\s*$")
_TRIES = 4
_FEWEST = 20
Distance = Literal["far", "near"]
_ANSWERS = frozenset({DONTCARE, "yes", "no", "True", "False", "true", "false"})


class OutOfDomain(TurnStressor):
    """Foreign utterances in place of the user's (the state stays as it was), or beside the user's own words.

    A share `rate` of the turns changes. `mode=turn` replaces the utterance and marks the turn `ood`; `mode=segment`
    adds a foreign sentence before or after it. Half of them are `near` what the system does, as a flight is to a train,
    and half `far` from it; turns are tagged with the one they got. `corpus` names a corpus to take the user utterances
    of instead, such as `kvret:train`, or several, as often each; turns are tagged with the corpus. `services` are those
    of it to take, where they are foreign, such as `Banks`. `part=train` and `part=test` halve the utterances.
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
            lists = self._openings(domain, {name: resources.load(name) for name in self.corpora})
        else:
            lists = {distance: own_utterances(resources.schema, domain, distance) for distance in self.distances}
        if self.part != "all":
            half = ("train", "test").index(self.part)
            lists = {tag: [text for text in texts if crc32(text.encode()) % 2 == half] for tag, texts in lists.items()}
        counts = {tag: len(texts) for tag, texts in lists.items()}
        for name, count in (counts if self.corpora else {"the embedded list": sum(counts.values())}).items():
            if count < _FEWEST:
                raise CorpusError(
                    f"out_of_domain: only {count} utterances of {name} are foreign to the stressed corpus",
                    fix="give corpus= another corpus, about something else, or leave it out for the embedded list",
                )
        self._foreign = [(tag.partition(":")[0], texts) for tag, texts in lists.items() if texts]

    def _openings(self, domain: Domain, corpora: Mapping[str, Material]) -> dict[str, list[str]]:
        known = [service for material in corpora.values() for service in material.schema.by_name]
        for name in self.services:
            if not any(is_among(service, (name,)) for service in known):
                raise unknown(f"service of {' and '.join(corpora)}", name, known)
        return {name: domain.foreign_openings(material, self.services) for name, material in corpora.items()}

    def rewrite_utterance(self, utterance: Utterance) -> Outcome:
        """A foreign utterance at a share of the turns; turns that are out of domain already stay."""
        random = utterance.random
        if random.random() >= self.rate or utterance.turn.ood:
            return None
        style = style_of(utterance.text, utterance.turn.system, self._usual)
        for _ in range(_TRIES):
            source, texts = self._foreign[int(random.random() * len(self._foreign))]
            foreign = texts[int(random.random() * len(texts))]
            if _says_none(utterance, foreign):
                rewrite = self._place(utterance, write(foreign, style), style)
                return rewrite._replace(tags=(source,))
        return Unchanged("every foreign utterance said a value")

    def _place(self, utterance: Utterance, foreign: str, style: WritingStyle) -> Rewrite:
        """The foreign words instead of the user's own, before or after them."""
        if self.mode == "turn":
            return Rewrite(foreign, utterance.before, ood=True)
        own = utterance.text.strip()
        if utterance.random.random() < 0.5 or not own:
            return Rewrite(f"{foreign} {utterance.text}".rstrip())
        stop = "" if _ENDED.search(own) else " ." if style.spaced else "."
        return Rewrite(f"{utterance.text.rstrip()}{stop} {foreign}")

    def objection(self, utterance: Utterance, rewrite: Rewrite) -> str:
        """The foreign words say no value of the state; the user's own, where they stay, say all of theirs."""
        if self.mode == "segment":
            return super().objection(utterance, rewrite)
        return "" if _says_none(utterance, rewrite.text) else "the foreign utterance says a value"


def _says_none(utterance: Utterance, foreign: str) -> bool:
    """Whether the text says nothing that the state knows. Yes, no and "any" would be answers, not values, in it."""
    for slot, forms in utterance.turn.state.items():
        if forms[0] not in _ANSWERS and values.find_value(foreign, slot, forms):
            return False
    return True


def own_utterances(schema: Schema, domain: Domain, distance: Distance) -> list[str]:
    """Those of our own list that touch nothing of the corpus; what is near may speak of the same kind of things."""
    texts = embedded_utterances(schema, distance)
    return [text for text in texts if (domain.is_foreign(text) if distance == "far" else not domain.says_value(text))]


def embedded_utterances(schema: Schema, distance: Distance) -> list[str]:
    """The utterances of our own list, without the topics that a service of the schema is about."""
    known = {
        word
        for service in schema.services
        for word in re.findall(r"[a-z]+", f"{service.name} {service.description}".lower())
    }
    return [
        text
        for topic in read_table(__package__, f"{distance}_topics.toml")["topics"].values()
        if not any(word.startswith(beginning) for beginning in topic["covered_by"] for word in known)
        for text in topic["utterances"]
    ]
