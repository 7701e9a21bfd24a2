"""What a scoring does with responses before anybody measures them, and what it can say of them as they pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from dstress.corpora.base import Corpus
from dstress.errors import PredictionError, place
from dstress.predictions.base import Prediction
from dstress.scoring.metrics.richness import Diversity
from dstress.text.placeholders import Placeholders

DomainSource = Literal["", "predicted", "states", "placeholders"]
"""Where the active domains come from: the file, changes of the state, or names such as `[hotel_phone]`; empty for the
file where it has them, else the states, as mwzeval does."""

_MOST_NAMED = 3


class Responses:
    """Passes predictions on, their responses made ready for the metrics."""

    def __init__(self, corpus: Corpus, domains: DomainSource, delexicalise: bool) -> None:
        self._domains, self._placeholders = domains, Placeholders(corpus.schema)
        self._delexicaliser = None
        if delexicalise:
            from dstress.scoring.metrics.delexicalisation import Delexicaliser  # its expressions take a while to make

            self._delexicaliser = Delexicaliser(corpus)
        self._diversity = Diversity(self._placeholders)
        self._unknown: Counter[str] = Counter()
        self._known_domains, self._unknown_domains = frozenset(corpus.schema.by_name), Counter[str]()
        self._found: dict[str, tuple[bool, str]] = {}

    def watch(self, predictions: Iterable[Prediction]) -> Iterator[Prediction]:
        """The same predictions, in their order."""
        for prediction in predictions:
            yield self._prepare(prediction)

    def _prepare(self, prediction: Prediction) -> Prediction:
        if prediction.failed:
            return prediction
        self._require_like("response", prediction.response is not None, prediction)
        self._require_like("state", not prediction.stateless, prediction)
        response = prediction.response
        if response is None:
            return prediction
        if self._delexicaliser:
            response = self._delexicaliser.delexicalise(response, prediction.state)
        names = self._placeholders.names(response)
        self._unknown.update(name for name in names if self._placeholders.kind(name) is None)
        self._diversity.add(response)
        domains = prediction.domains
        if self._domains == "states":
            domains = None
        elif self._domains == "placeholders":
            domains = tuple(sorted(self._placeholders.services(names)))
        self._unknown_domains.update(name for name in domains or () if name not in self._known_domains)
        self._require_like("active domains", domains is not None or self._domains == "states", prediction)
        return msgspec.structs.replace(prediction, response=response, domains=domains)

    def _require_like(self, what: str, is_there: bool, prediction: Prediction) -> None:
        """Refuse a file in which only some turns say something: the scores would be of two kinds."""
        where = place("", prediction.dialogue, prediction.turn)
        expected, first = self._found.setdefault(what, (is_there, where))
        if expected != is_there:
            has, lacks = (where, first) if is_there else (first, where)
            fix = f"give {what} for every turn, or for none"
            if what == "active domains":
                fix += "; or take them from elsewhere with --domains states"
            raise PredictionError(f"no {what} here, unlike {has}", where=lacks, fix=fix)

    @property
    def signature(self) -> dict[str, str]:
        """How the responses were read."""
        says = {what: is_there for what, (is_there, _) in self._found.items()}
        if not says.get("response"):
            return {}
        parts: dict[str, str] = {"domains": self._domains or ("predicted" if says["active domains"] else "states")}
        parts |= {} if says["state"] else {"states": "gold"}
        return parts | ({"delexicalised": "database"} if self._delexicaliser else {})

    @property
    def notes(self) -> list[str]:
        """What a reader of the scores should know."""
        placeholders = Counter({f"[{name}]": times for name, times in self._unknown.items()})
        strange = {
            "placeholders that no schema knows were left out": placeholders,
            "active domains that the schema does not have count for nothing": self._unknown_domains,
        }
        notes = []
        for what, counts in strange.items():
            named = ", ".join(f"{name} {times:,} times" for name, times in counts.most_common(_MOST_NAMED))
            notes += [f"{what}: {named}{' ...' if len(counts) > _MOST_NAMED else ''}"] if counts else []
        return notes

    @property
    def richness(self) -> dict[str, float]:
        """mwzeval's figures of how rich the language is."""
        return self._diversity.figures()
