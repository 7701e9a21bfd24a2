"""Few-shot tasks: small corpora drawn from one in the data home, by a rule that is stored with the ids it chose.

RADDLE (Peng et al. 2021, section 4.2) and CheckDST (3.1) take dialogues of a single domain, GCA's study (5.1.2 and
5.1.3) leaves a domain out of training, or trains on a share of it. Lots are drawn by the seed and a dialogue's id
alone. Test dialogues are taken first, so that they stay the same whatever the number of shots, and the 10 of ten shots
are among the 50 of fifty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from msgspec.structs import replace

from dstress.corpora import EMBEDDED, load_splits, store
from dstress.corpora.base import LocatedDialogue, Split, draw_lot
from dstress.corpora.split_names import same_split
from dstress.corpora.store import Manifest, Selection
from dstress.dialogue import Dialogue, Schema, service_of
from dstress.errors import CorpusError, unknown
from dstress.schema_names import map_labels

TRAIN, DEV, TEST, SHOTS = "train", "dev", "test", "shots"
MOST_DRAWS = 100
SINGLE_DOMAIN = (
    "the dialogues of one domain alone, of all splits; in the order of their lots they go to test, then dev, then "
    "train; where there are too few, in proportion to the sizes asked for"
)
K_SHOT = "dialogues of any domains, each from the split of the same name, in the order of their lots"
LEAVE_ONE_OUT = (
    "train and dev without the dialogues that {domain} comes up in, test with those only; shots are such dialogues of "
    "training, in the order of their lots; test and shots have the labels of {domain} only"
)


class _Candidate(NamedTuple):
    """A dialogue that may be drawn: where it is from, which services it is about, and whether its goal is known."""

    split: str
    id: str
    services: frozenset[str]
    has_goal: bool


class _Part(NamedTuple):
    """A split to be. `only` is the one service whose labels it keeps, if there is such a one."""

    chosen: Sequence[_Candidate]
    schema: Schema
    only: str = ""


class Pool:
    """The dialogues of a corpus in the order of their lots."""

    def __init__(self, name: str, seed: int = 1) -> None:
        self.name, self.splits = name, load_splits(name)
        self._candidates = [
            # What it is about: the services that it names, and those of its labels.
            _Candidate(
                split,
                dialogue.id,
                frozenset((*dialogue.services, *(service_of(slot) for turn in dialogue.turns for slot in turn.state))),
                dialogue.goal is not None,
            )
            for split, corpus in self.splits.items()
            for dialogue in corpus
        ]
        ids = Counter(candidate.id for candidate in self._candidates)
        self._ambiguous = {id for id, count in ids.items() if count > 1}
        """Ids that several splits have, as SGD's do: here they need another."""
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Draw the lots anew."""
        self.seed = seed
        self._candidates.sort(key=lambda candidate: (draw_lot(seed, candidate.id), candidate.split))

    def of(self, split: str, accepts: Callable[[_Candidate], bool] = lambda _: True) -> list[_Candidate]:
        """The dialogues of one split, by any of its names."""
        name = self.split(split)
        return [candidate for candidate in self._candidates if candidate.split == name and accepts(candidate)]

    def split(self, split: str) -> str:
        """What the corpus calls a split."""
        if name := same_split(self.splits, split):
            return name
        raise unknown(f"split of {self.name}", split, self.splits, fix="such a task needs train and test")

    def alone(self, domain: str) -> list[_Candidate]:
        """The dialogues that are about one domain and no other, of all splits."""
        return [candidate for candidate in self._candidates if candidate.services == {domain}]

    def transferable(self) -> list[str]:
        """The domains that dialogues of both training and test are about: MultiWOZ's test has no police."""
        train, test = (frozenset().union(*(c.services for c in self.of(split))) for split in (TRAIN, TEST))
        return [domain for domain in self.train_schema.by_name if domain in train and domain in test]

    @property
    def train_schema(self) -> Schema:
        """The schema of the training split."""
        return self.splits[self.split(TRAIN)].schema

    def schema(self, *domains: str) -> Schema:
        """The services of these names."""
        services = {service.name: service for corpus in self.splits.values() for service in corpus.schema.services}
        for domain in domains:
            if domain not in services:
                raise unknown(f"domain of {self.name}", domain, services)
        return Schema(tuple(services[domain] for domain in domains))

    def store(self, name: str, rule: str, parts: Mapping[str, _Part], notes: Sequence[str] = ()) -> Manifest:
        """Store a task as a corpus; one of this name that is there already must be the same."""
        for split, part in parts.items():
            if not part.chosen:
                raise CorpusError(f"no dialogue of {self.name} is left for {split}", fix="ask for other sizes")
        have_goals = [candidate.has_goal for candidate in parts[TEST].chosen]
        if not all(have_goals):
            goals = f"{sum(have_goals)} of {len(have_goals)} test dialogues have a goal"
            notes = [*notes, f"{goals}; inform and success need one"]
        ids = {split: [self._new_id(candidate) for candidate in part.chosen] for split, part in parts.items()}
        selection = Selection(self.name, rule, self.seed, ids, tuple(notes))
        stored = store.read_manifest(name)
        if name == EMBEDDED or (stored and stored.selection != selection):
            fix = f"choose another --name, or `dstress corpora remove {name}` first"
            raise CorpusError(f"there is a corpus {name!r}, and it is another one", fix=fix)
        splits = (("few-shot", self._split(split, part)) for split, part in parts.items())
        return store.add(name, selection, splits, database=store.stored_database(self.name))

    def _new_id(self, candidate: _Candidate) -> str:
        return f"{candidate.split}-{candidate.id}" if candidate.id in self._ambiguous else candidate.id

    def _split(self, name: str, part: _Part) -> Split:
        new_ids = {(candidate.split, candidate.id): self._new_id(candidate) for candidate in part.chosen}

        def read() -> Iterator[LocatedDialogue]:
            for split, corpus in self.splits.items():
                for dialogue in corpus:
                    if new_id := new_ids.get((split, dialogue.id)):
                        kept = _keep_service(dialogue, part.only) if part.only else dialogue
                        yield f"{self.name}:{split}", replace(kept, id=new_id)

        return Split(name, part.schema, read, self.splits[part.chosen[0].split].language)


def store_single_domain(pool: Pool, name: str, domains: Sequence[str], sizes: Mapping[str, Sequence[int]]) -> Manifest:
    """Single-domain dialogues, as RADDLE and CheckDST take them: for each split a size for each domain."""
    schema = pool.schema(*domains)
    order = [split for split in (TEST, DEV, TRAIN) if any(sizes.get(split, ()))]
    chosen: dict[str, list[_Candidate]] = {split: [] for split in reversed(order)}
    notes = []
    for place, domain in enumerate(domains):
        candidates, requested = pool.alone(domain), [sizes[split][place] for split in order]
        shares = _shares(requested, len(candidates))
        if shares != requested:
            shortage = ", ".join(f"{n} of {w} for {s}" for s, n, w in zip(order, shares, requested, strict=True))
            notes.append(f"{domain} has {len(candidates)} single-domain dialogues: {shortage}")
        for split, end, count in zip(order, accumulate(shares), shares, strict=True):
            chosen[split] += candidates[end - count : end]
    parts = {split: _Part(candidates, schema) for split, candidates in chosen.items()}
    return pool.store(name, SINGLE_DOMAIN, parts, notes)


def store_k_shot(pool: Pool, name: str, sizes: Mapping[str, str]) -> Manifest:
    """Some training dialogues, `50` or `5%`; dev and test whole, or some of them."""
    parts, notes = {}, []
    for split in (TRAIN, DEV, TEST):
        if split == DEV and (sizes.get(split) == "0" or not same_split(pool.splits, split)):
            continue
        candidates = pool.of(split)
        count = _count(sizes[split], len(candidates)) if split in sizes else len(candidates)
        if count > len(candidates):
            notes.append(f"{len(candidates)} of {count} for {split}: there are no more")
        parts[split] = _Part(candidates[:count], pool.splits[pool.split(split)].schema)
    return pool.store(name, K_SHOT, parts, notes)


def store_left_out(pool: Pool, name: str, domain: str, shots: str = "0", test: str = "", draws: int = 1) -> Manifest:
    """Zero- and few-shot transfer to a domain: trained without it, then on `shots`, tested on it.

    Several draws of the shots are splits of one corpus (`shots.d1`), since all else is the same.
    """
    target = pool.schema(domain)
    others = pool.schema(*(service for service in pool.train_schema.by_name if service != domain))

    def about(candidate: _Candidate) -> bool:
        return domain in candidate.services

    parts = {
        split: _Part(pool.of(split, lambda candidate: not about(candidate)), others)
        for split in (TRAIN, DEV)
        if split == TRAIN or same_split(pool.splits, split)
    }
    tested, candidates = pool.of(TEST, about), pool.of(TRAIN, about)
    parts[TEST] = _Part(tested[: _count(test, len(tested))] if test else tested, target, domain)
    if count := _count(shots, len(candidates)):
        for draw in range(draws):
            lots = sorted(candidates, key=lambda candidate: draw_lot(pool.seed + draw, candidate.id))
            parts[f"{SHOTS}.d{draw + 1}" if draws > 1 else SHOTS] = _Part(lots[:count], target, domain)
    return pool.store(name, LEAVE_ONE_OUT.format(domain=domain), parts)


def _count(size: str, available: int) -> int:
    """`50`, or `5%` of those that are there, but at least one."""
    number = size.removesuffix("%")
    if not number.isascii() or not number.isdigit():
        raise CorpusError(f"{size!r} is no number of dialogues", fix="write 50, or 5% of those that are there")
    return int(number) if number == size else min(available, max(1, available * int(number) // 100))


def _shares(sizes: Sequence[int], available: int) -> list[int]:
    """The sizes asked for; where there are fewer dialogues, all of them in that proportion (largest remainders)."""
    total = sum(sizes)
    if total <= available:
        return list(sizes)
    shares = [size * available // total for size in sizes]
    by_remainder = sorted(range(len(sizes)), key=lambda place: -(sizes[place] * available % total))
    for place in by_remainder[: available - sum(shares)]:
        shares[place] += 1
    return shares


def _keep_service(dialogue: Dialogue, service: str) -> Dialogue:
    """The dialogue with the labels of one service only; the words stay."""
    kept = map_labels(
        dialogue,
        service=lambda other: other if other == service else "",
        slot=lambda slot: slot if service_of(slot) == service else "",
        frame=lambda frame: frame if frame.service == service else None,
    )
    return replace(kept, services=(service,))
