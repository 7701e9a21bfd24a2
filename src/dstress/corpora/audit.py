"""A second look at a stored corpus: are its files what was imported, and what should its users know?"""

from __future__ import annotations

import hashlib

from dstress.corpora import store
from dstress.corpora.base import Corpus, Split
from dstress.corpora.catalogue import catalogue
from dstress.corpora.checks import read_checked
from dstress.corpora.counts import count_split
from dstress.corpora.split_names import canonical_split

_SHOWN = 5


def audit_corpus(name: str, opened: dict[str, Corpus]) -> dict[str, list[str] | str]:
    """Check files and dialogues of every split; raise at the first damage, return what a user should know."""
    entry = store.require_manifest(name)
    notes: list[str] = []
    for split, corpus in opened.items():
        store.require_intact(name, store.schema_file(split), entry.splits[split].schema_sha256)
        if entry.splits[split].sha256:
            store.require_intact(name, store.dialogue_file(split), entry.splits[split].sha256)
        corpus.open_database()  # its tables are compared with their checksums as they are read
        _check_dialogues(corpus)
        notes += _note_counts(name, split, corpus)
    return {"name": name, "notes": notes + _note_leaks(opened)}


def _check_dialogues(corpus: Corpus) -> None:
    located = Split(corpus.split, corpus.schema, lambda: ((corpus.name, dialogue) for dialogue in corpus))
    for _ in read_checked(located):
        pass


def _note_counts(name: str, split: str, corpus: Corpus) -> list[str]:
    """Dialogues that are missing beside the published corpus, and labels that the schema does not know."""
    counts = count_split(corpus)
    notes = []
    published = catalogue()[name].dialogues.get(canonical_split(split)) if name in catalogue() else None
    if published not in (None, counts.dialogues):
        notes.append(f"{split}: {counts.dialogues:,} dialogues, {published:,} in the published corpus")
    if counts.outside_schema:
        worst = ", ".join(f"{pair} ({n})" for pair, n in list(counts.outside_schema.items())[:_SHOWN])
        notes.append(
            f"{split}: {sum(counts.outside_schema.values()):,} labels of categorical slots are not among the schema's "
            f"values: {worst}{' ...' if len(counts.outside_schema) > _SHOWN else ''}"
        )
    return notes


def _note_leaks(opened: dict[str, Corpus]) -> list[str]:
    """Dialogues that two splits share: a tracker may have been trained on what it is tested with."""
    notes = []
    seen: dict[bytes, str] = {}
    for split, corpus in opened.items():
        shared = 0
        for dialogue in corpus:
            words = hashlib.sha256("\n".join(turn.user for turn in dialogue.turns).encode()).digest()
            shared += seen.setdefault(words, split) != split
        if shared:
            notes.append(f"{split}: {shared:,} dialogues have the same user utterances as one in another split")
    return notes
