"""How varied a corpus is: its words, its values, and which slots go together in one utterance.

CoCo (Li et al. 2021) describes data by it: how many of the values that dialogues use are known from training (table 1),
with which other slots a slot comes (tables 2 and 6), and the share of distinct n-grams (table 7). These are figures of
a corpus, not of a tracker's answers, and they are no sums over dialogues: so they are no metric. They are counted as
dialogues pass; only distinct n-grams and values are held.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from math import log10
from pathlib import Path
from typing import Any

import msgspec

from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Schema, State, Turn, service_of
from dstress.errors import DstressError
from dstress.text.letters import words_of
from dstress.text.ngrams import Grams, words_in

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
    """Sees dialogues pass, and sums up. `known` has the values of the training data by slot (`values_of`)."""

    def __init__(self, schema: Schema, known: Mapping[str, Collection[str]] | None = None, grams: bool = True) -> None:
        self.schema, self.known = schema, known
        self.counted: Counter[str] = Counter()
        self.uses: dict[str, Counter[tuple[str, ...]]] = {slot: Counter() for slot in schema.slots}
        self.turns: Counter[str] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.grams = Grams() if grams else None
        self.context = Grams() if grams else None

    def add(self, dialogue: Dialogue) -> None:
        """Count one dialogue, as it is; `originals` gives it as it was before any stressor."""
        self.counted["dialogues"] += 1
        changes = list(dialogue.updates())
        for change in changes:
            self.counted["turns"] += 1
            self._add_label({slot: forms for slot, forms in change.items() if forms})
        if self.grams is not None:
            for turn in dialogue.turns:
                self.grams.add(words_in(turn.user))
        if self.context is not None:
            _add_contexts(self.context, dialogue.turns, changes)

    def _add_label(self, label: State) -> None:
        self.counted["labelled"] += bool(label)
        for slot, forms in label.items():
            self.uses[slot][forms] += 1
            self.turns[slot] += 1
            service = service_of(slot)
            self.pairs.update((slot, other) for other in label if other != slot and service_of(other) == service)

    def figures(self) -> Figures:
        """All of it."""
        count, slots = self.counted, [slot for slot in self.schema.slots if self.turns[slot]]
        covered = (
            {slot: self._coverage(slot, self.known.get(slot, ())) for slot in slots} if self.known is not None else {}
        )
        return Figures(
            count["dialogues"],
            count["turns"],
            count["labelled"],
            self.grams.shares() if self.grams else {},
            self.context.shares() if self.context else {},
            covered,
            {slot: self._company(slot) for slot in slots},
        )

    def _coverage(self, slot: str, known: Collection[str]) -> Coverage:
        """A value is known if training has any of its accepted forms."""
        by_use = self.uses[slot]
        met = {forms for forms in by_use if any(_letters(form) in known for form in forms)}
        return Coverage(by_use.total(), sum(by_use[forms] for forms in met), len(by_use), len(met))

    def _company(self, slot: str) -> Company:
        service = service_of(slot)
        others = sorted(other for other in self.turns if service_of(other) == service and other != slot)
        counts = {other: self.pairs[slot, other] for other in others}
        total = sum(counts.values())
        shares = {other: count / total if total else 0.0 for other, count in counts.items()}
        return Company(self.turns[slot], counts, shares, entropy(shares.values()), log10(len(others) or 1))


def _add_contexts(grams: Grams, turns: Sequence[Turn], changes: Sequence[State]) -> None:
    """CoCo's data points (section 3): each labelled turn at the end of its dialogue so far."""
    history: list[str] = []
    met = 0
    for turn, change in zip(turns, changes, strict=True):
        if any(change.values()):
            grams.add(history + words_in(turn.system) + words_in(turn.user), met)
            met = len(history)
        remembered = turn.remembered
        history += words_in(remembered.system) + words_in(remembered.user)


def originals(dialogue: Dialogue) -> Dialogue:
    """The dialogue before any stressor."""
    return msgspec.structs.replace(dialogue, turns=tuple(turn.original for turn in dialogue.turns))


def values_of(dialogues: Iterable[Dialogue]) -> dict[str, set[str]]:
    """Every accepted form of every value that the dialogues' states have, by slot, ready for `Diversity`."""
    found: dict[str, set[str]] = {}
    for dialogue in dialogues:
        for change in dialogue.updates():
            for slot, forms in change.items():
                found.setdefault(slot, set()).update(map(_letters, forms))
    return found


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
    known = None
    if train:
        training = load(train)
        counters[TRAIN] = Diversity(training.schema, grams=False)

        def counted() -> Iterator[Dialogue]:
            for done, dialogue in enumerate(training, start=1):
                counters[TRAIN].add(dialogue)
                on_progress(TRAIN, done)
                yield dialogue

        known = values_of(counted())
    counters[ORIGINAL] = Diversity(corpus.schema, known)
    if corpus.stressed:
        counters[STRESSED] = Diversity(corpus.schema, known)
    for done, dialogue in enumerate(corpus, start=1):
        counters[ORIGINAL].add(originals(dialogue) if corpus.stressed else dialogue)
        if corpus.stressed:
            counters[STRESSED].add(dialogue)
        on_progress(name, done)
    return CorpusFigures(name, train, {label: counter.figures() for label, counter in counters.items()})


def _train_of(*folders: Path) -> str:
    """The training split of the corpus that a stressed one was made from, where it is there."""
    for folder in folders:
        description = folder / "stress.json"
        if description.is_file():
            about = msgspec.json.decode(description.read_bytes(), type=dict[str, Any])
            try:
                return load(str(about.get("corpus", ""))).train
            except DstressError:  # it was made elsewhere, or its corpus is gone
                return ""
    return ""
