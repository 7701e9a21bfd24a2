"""What a corpus holds, counted in one pass over its dialogues."""

from __future__ import annotations

from collections import Counter

import msgspec

from dstress.corpora.base import Corpus
from dstress.dialogue import DONTCARE, Dialogue


class SplitCounts(msgspec.Struct):
    """The counts of one split; `values` counts, per slot, how many turns give it each value."""

    dialogues: int = 0
    turns: int = 0
    frames: int = 0
    coreferences: int = 0
    out_of_domain: int = 0
    services: dict[str, int] = {}
    values: dict[str, dict[str, int]] = {}
    outside_schema: dict[str, int] = {}
    sample: Dialogue | None = None


def count(corpus: Corpus, sample: str = "") -> SplitCounts:
    """Count a split. `sample` names the dialogue to keep; without it, the first with several services is kept."""
    counts = SplitCounts()
    services: Counter[str] = Counter()
    values: dict[str, Counter[str]] = {slot: Counter() for slot in corpus.schema.slots}
    for dialogue in corpus:
        counts.dialogues += 1
        counts.turns += len(dialogue.turns)
        services.update(set(dialogue.services))
        for turn, changed in zip(dialogue.turns, dialogue.updates(), strict=True):
            counts.frames += len(turn.frames)
            counts.coreferences += len(turn.coreferences)
            counts.out_of_domain += turn.ood
            for slot, forms in changed.items():
                if forms:
                    values[slot][forms[0]] += 1
        counts.sample = _better_sample(counts.sample, dialogue, sample)
    counts.services = {service.name: services[service.name] for service in corpus.schema.services}
    counts.values = {slot: dict(seen.most_common()) for slot, seen in values.items()}
    counts.outside_schema = _outside_schema(corpus, counts.values)
    return counts


def _better_sample(kept: Dialogue | None, candidate: Dialogue, wanted: str) -> Dialogue | None:
    if wanted:
        return candidate if candidate.id == wanted else kept
    if kept is None or (len(kept.services) < 2 <= len(candidate.services) and len(candidate.turns) <= 8):
        return candidate
    return kept


def _outside_schema(corpus: Corpus, values: dict[str, dict[str, int]]) -> dict[str, int]:
    """Values of categorical slots that the schema does not list, as `slot=value`: annotation noise, most of them."""
    found: Counter[str] = Counter()
    for slot, seen in values.items():
        kind = corpus.schema.slots[slot]
        if kind.categorical:
            allowed = {value.casefold() for value in kind.values} | {DONTCARE}
            for value, times in seen.items():
                if value.casefold() not in allowed:
                    found[f"{slot}={value}"] += times
    return dict(found.most_common())


def unseen_services(corpus: Corpus, train: Corpus) -> list[str]:
    """The services that training data never shows: SGD reports results on them apart."""
    seen = set(train.schema.by_name)
    return [service.name for service in corpus.schema.services if service.name not in seen]
