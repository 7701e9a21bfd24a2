"""How varied a corpus is: its words, its values, and which slots go together in one utterance.

CoCo (Li et al. 2021) describes data by it: how many of the values that dialogues use are known from training (table 1),
with which other slots a slot comes (tables 2 and 6), and the share of distinct n-grams (table 7). These are figures of
a corpus, not of a tracker's answers, and they are no sums over dialogues: so they are no metric. They are counted as
dialogues pass; only distinct n-grams and values are held.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from math import log10
from pathlib import Path
from typing import Any

import msgspec

from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Schema, service_of
from dstress.errors import DstressError
from dstress.text.letters import words_of
from dstress.text.ngrams import Grams
from dstress.text.tokens import words_in

TRAIN, ORIGINAL, STRESSED = "train", "original", "stressed"
OnProgress = Callable[[str, int], None]


class Coverage(msgspec.Struct, frozen=True):
    """A slot's values and what training has of them: by use, one for each turn that gives the slot a value, and once
    for each value."""

    uses: int
    known_uses: int
    values: int
    known_values: int

    @property
    def share(self) -> float:
        """The share of uses that training covers: table 1."""
        return self.known_uses / self.uses if self.uses else 0.0


class Company(msgspec.Struct, frozen=True):
    """The other slots of its service that come in one utterance with a slot: tables 2 and 6.

    `counts` has every other slot of the service that any label has; `shares` are of their sum; `entropy` is in log 10,
    and `most` is that of a uniform distribution.
    """

    turns: int
    counts: dict[str, int]
    shares: dict[str, float]
    entropy: float
    most: float


class Figures(msgspec.Struct, frozen=True):
    """All of it. `labelled` turns change the state; `in_context` is over these, each with all that was said before."""

    dialogues: int
    turns: int
    labelled: int
    distinct: dict[str, float]
    in_context: dict[str, float]
    coverage: dict[str, Coverage]
    company: dict[str, Company]


class CorpusFigures(msgspec.Struct):
    """The figures of a corpus and of what stands beside it: its training data, and the turns as they were."""

    corpus: str
    train: str
    data: dict[str, Figures]


class Diversity:
    """Sees dialogues pass, and sums up. `trained` has the values of the training data by slot (`add_values`)."""

    def __init__(
        self, schema: Schema, trained: Mapping[str, Collection[str]] | None = None, grams: bool = True
    ) -> None:
        self.schema, self.trained = schema, trained
        self.counted: Counter[str] = Counter()
        self.uses: dict[str, Counter[tuple[str, ...]]] = {slot: Counter() for slot in schema.slots}
        self.turns: Counter[str] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.grams = {"turns": Grams(), "context": Grams()} if grams else {}

    def add(self, dialogue: Dialogue) -> None:
        """Count one dialogue, as it is; `originals` gives it as it was before any stressor."""
        changes = list(dialogue.updates())
        self.counted.update(dialogues=1, turns=len(changes))
        for change in changes:
            label = {slot: forms for slot, forms in change.items() if forms}
            self.counted["labelled"] += bool(label)
            for slot, forms in label.items():
                self.uses[slot][forms] += 1
                self.turns[slot] += 1
                service = service_of(slot)
                self.pairs.update((slot, other) for other in label if other != slot and service_of(other) == service)
        if not self.grams:
            return
        # In context are CoCo's data points (section 3): each labelled turn at the end of its dialogue so far.
        history: list[str] = []
        counted = 0
        for turn, change in zip(dialogue.turns, changes, strict=True):
            self.grams["turns"].add(words_in(turn.user))
            if any(change.values()):
                self.grams["context"].add(history + words_in(turn.system) + words_in(turn.user), counted)
                counted = len(history)
            history += words_in(turn.remembered.system) + words_in(turn.remembered.user)

    def figures(self) -> Figures:
        """All of it."""
        slots = [slot for slot in self.schema.slots if self.turns[slot]]
        covered = {}
        for slot in slots if self.trained is not None else ():
            # A value is known if training has any of its accepted forms.
            by_use, trained = self.uses[slot], (self.trained or {}).get(slot, ())
            seen = {forms for forms in by_use if any(_letters(form) in trained for form in forms)}
            covered[slot] = Coverage(by_use.total(), sum(by_use[forms] for forms in seen), len(by_use), len(seen))
        dialogues, turns, labelled = (self.counted[what] for what in ("dialogues", "turns", "labelled"))
        shares = {name: grams.shares() for name, grams in self.grams.items()}
        distinct, in_context = (shares.get(name, {}) for name in ("turns", "context"))
        company = {slot: self._company(slot) for slot in slots}
        return Figures(dialogues, turns, labelled, distinct, in_context, covered, company)

    def _company(self, slot: str) -> Company:
        service = service_of(slot)
        others = sorted(other for other in self.turns if service_of(other) == service and other != slot)
        counts = {other: self.pairs[slot, other] for other in others}
        total = sum(counts.values())
        shares = {other: count / total if total else 0.0 for other, count in counts.items()}
        return Company(self.turns[slot], counts, shares, entropy(shares.values()), log10(len(others) or 1))


def originals(dialogue: Dialogue) -> Dialogue:
    """The dialogue before any stressor."""
    return msgspec.structs.replace(dialogue, turns=tuple(turn.original for turn in dialogue.turns))


def add_values(dialogue: Dialogue, values: dict[str, set[str]]) -> None:
    """Add every accepted form of every value that a dialogue's states have, by slot, ready for `Diversity`."""
    for change in dialogue.updates():
        for slot, forms in change.items():
            values.setdefault(slot, set()).update(map(_letters, forms))


def _letters(form: str) -> str:
    """A value by its letters: copies of one corpus differ in capitals, blanks and apostrophes."""
    return "".join(words_of(form)) or form.strip().casefold()


def entropy(shares: Iterable[float]) -> float:
    """The entropy of a distribution in log 10, as CoCo's table 6 has it."""
    return 0.0 - sum(share * log10(share) for share in shares if share)


def measure(
    corpus: Corpus, name: str, train: str = "", on_progress: OnProgress = lambda what, done: None
) -> CorpusFigures:
    """The figures of a corpus; of a stressed one, also those of the turns as they were."""
    train = train or corpus.train or _train_of(Path(name.rpartition(":")[0] or name), Path(name))
    counters: dict[str, Diversity] = {}
    trained: dict[str, set[str]] | None = None
    if train:
        training, trained = load(train), {}
        counters[TRAIN] = Diversity(training.schema, grams=False)
        for done, dialogue in enumerate(training, start=1):
            counters[TRAIN].add(dialogue)
            add_values(dialogue, trained)
            on_progress(TRAIN, done)
    counters[ORIGINAL] = Diversity(corpus.schema, trained)
    if corpus.stressed:
        counters[STRESSED] = Diversity(corpus.schema, trained)
    for done, dialogue in enumerate(corpus, start=1):
        counters[ORIGINAL].add(originals(dialogue) if corpus.stressed else dialogue)
        if corpus.stressed:
            counters[STRESSED].add(dialogue)
        on_progress(name, done)
    return CorpusFigures(name, train, {label: counter.figures() for label, counter in counters.items()})


def _train_of(*folders: Path) -> str:
    """The training split of the corpus that a stressed one was made from, where it is there."""
    descriptions = [path for folder in folders if (path := folder / "stress.json").is_file()]
    with suppress(DstressError):  # it was made elsewhere, or its corpus is gone
        for path in descriptions[:1]:
            about = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
            return load(str(about.get("corpus", ""))).train
    return ""
