"""A second look at a corpus: what it holds, whether its files are what was imported, and what its users should know."""

from __future__ import annotations

import hashlib
from collections import Counter
from functools import partial
from itertools import repeat

import msgspec

from dstress.corpora import store
from dstress.corpora.base import Corpus, Split
from dstress.corpora.catalogue import catalogue
from dstress.corpora.checks import read_checked
from dstress.corpora.split_names import canonical_split
from dstress.dialogue import DONTCARE, Dialogue, split_values

_SHOWN = 5


class SplitCounts(msgspec.Struct):
    """The counts of one split; `values` counts, per slot, how many turns give it each value.

    `outside_schema` are values of categorical slots that the schema does not list, as `slot=value`: annotation noise,
    most of them.
    """

    dialogues: int = 0
    turns: int = 0
    frames: int = 0
    coreferences: int = 0
    out_of_domain: int = 0
    services: dict[str, int] = {}
    values: dict[str, dict[str, int]] = {}
    outside_schema: dict[str, int] = {}
    sample: Dialogue | None = None


def count_split(corpus: Corpus, sample: str = "") -> SplitCounts:
    """Count a split in one pass. `sample` names the dialogue to keep; without it, the first with several services."""
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
                    values[slot].update(split_values(forms[0]))
        kept = counts.sample
        telling = kept is None or (len(kept.services) < 2 <= len(dialogue.services) and len(dialogue.turns) <= 8)
        if dialogue.id == sample if sample else telling:
            counts.sample = dialogue
    counts.services = {service.name: services[service.name] for service in corpus.schema.services}
    counts.values = {slot: dict(seen.most_common()) for slot, seen in values.items()}
    outside: Counter[str] = Counter()
    for slot, kind in corpus.schema.slots.items():
        if kind.categorical:
            allowed = {value.casefold() for value in kind.values} | {DONTCARE}
            seen = counts.values[slot].items()
            outside.update({f"{slot}={value}": turns for value, turns in seen if value.casefold() not in allowed})
    counts.outside_schema = dict(outside.most_common())
    return counts


def audit_corpus(name: str, opened: dict[str, Corpus]) -> dict[str, list[str] | str]:
    """Check files and dialogues of every split; raise at the first damage, return what a user should know."""
    entry = store.require_manifest(name)
    published = catalogue()[name].dialogues if name in catalogue() else {}
    notes, leaks = [], []
    first_split: dict[bytes, str] = {}  # by the user utterances of a dialogue, hashed
    for split, corpus in opened.items():
        store.require_intact(name, store.schema_file(split), entry.splits[split].schema_sha256)
        if entry.splits[split].sha256:
            store.require_intact(name, store.dialogue_file(split), entry.splits[split].sha256)
        corpus.open_database()  # its tables are compared with their checksums as they are read
        located = Split(split, corpus.schema, partial(zip, repeat(name), corpus))
        counts = count_split(Corpus(name, split, corpus.schema, partial(read_checked, located)))

        expected = published.get(canonical_split(split), counts.dialogues)
        if expected != counts.dialogues:
            notes.append(f"{split}: {counts.dialogues:,} dialogues, {expected:,} in the published corpus")
        if counts.outside_schema:
            worst = ", ".join(f"{pair} ({n})" for pair, n in list(counts.outside_schema.items())[:_SHOWN])
            notes.append(
                f"{split}: {sum(counts.outside_schema.values()):,} labels of categorical slots are not among the "
                f"schema's values: {worst}{' ...' if len(counts.outside_schema) > _SHOWN else ''}"
            )

        # A tracker may have been trained on what it is tested with.
        shared = 0
        for dialogue in corpus:
            utterances = hashlib.sha256("\n".join(turn.user for turn in dialogue.turns).encode()).digest()
            shared += first_split.setdefault(utterances, split) != split
        if shared:
            leaks.append(f"{split}: {shared:,} dialogues have the same user utterances as one in another split")
    return {"name": name, "notes": notes + leaks}
