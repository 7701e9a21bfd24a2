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

import msgspec

from dstress.corpora import EMBEDDED, load_splits, store
from dstress.corpora.base import LocatedDialogue, Split, draw_lot
from dstress.corpora.split_names import same_split
from dstress.corpora.store import Manifest, Selection
from dstress.dialogue import Dialogue, Goal, Schema, State, Turn, service_of
from dstress.errors import CorpusError, unknown

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
_replace = msgspec.structs.replace


class _Drawn(NamedTuple):
    """A dialogue that may be drawn: where it is from, which services it is about, and whether its goal is known."""

    split: str
    id: str
    services: frozenset[str]
    has_goal: bool


class _Part(NamedTuple):
    """A split to be. `only` is the one service whose labels it keeps, if there is such a one."""

    chosen: Sequence[_Drawn]
    schema: Schema
    only: str = ""


class Pool:
    """The dialogues of a corpus in the order of their lots."""

    def __init__(self, name: str, seed: int = 1) -> None:
        self.name, self.splits = name, load_splits(name)
        self._all = [
            _Drawn(split, one.id, _services(one), one.goal is not None)
            for split, corpus in self.splits.items()
            for one in corpus
        ]
        self._often = {id for id, count in Counter(one.id for one in self._all).items() if count > 1}
        """Ids that several splits have, as SGD's do: here they need another."""
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Draw the lots anew."""
        self.seed = seed
        self._lots = sorted(self._all, key=lambda one: (draw_lot(seed, one.id), one.split))

    def of(self, split: str, wanted: Callable[[_Drawn], bool] = lambda _: True) -> list[_Drawn]:
        """The dialogues of one split, by any of its names."""
        return [one for one in self._lots if one.split == self.split(split) and wanted(one)]

    def split(self, wanted: str) -> str:
        """What the corpus calls a split."""
        if known := same_split(self.splits, wanted):
            return known
        raise unknown(f"split of {self.name}", wanted, self.splits, fix="such a task needs train and test")

    def alone(self, domain: str) -> list[_Drawn]:
        """The dialogues that are about one domain and no other, of all splits."""
        return [one for one in self._lots if one.services == {domain}]

    def transferable(self) -> list[str]:
        """The domains that dialogues of both training and test are about: MultiWOZ's test has no police."""
        met = [frozenset().union(*(one.services for one in self.of(split))) for split in (TRAIN, TEST)]
        return [domain for domain in self.splits[self.split(TRAIN)].schema.by_name if all(domain in one for one in met)]

    def schema(self, *domains: str) -> Schema:
        """The services of these names."""
        known = {service.name: service for corpus in self.splits.values() for service in corpus.schema.services}
        for domain in domains:
            if domain not in known:
                raise unknown(f"domain of {self.name}", domain, known)
        return Schema(tuple(known[domain] for domain in domains))

    def store(self, name: str, rule: str, parts: Mapping[str, _Part], notes: Sequence[str] = ()) -> Manifest:
        """Store a task as a corpus; one of this name that is there already must be the same."""
        for split, part in parts.items():
            if not part.chosen:
                raise CorpusError(f"no dialogue of {self.name} is left for {split}", fix="ask for other sizes")
        tested = [one.has_goal for one in parts[TEST].chosen]
        if not all(tested):
            need = f"{sum(tested)} of {len(tested)} test dialogues have a goal; inform and success need one"
            notes = [*notes, need]
        ids = {split: [self._id(one) for one in part.chosen] for split, part in parts.items()}
        selection = Selection(self.name, rule, self.seed, ids, tuple(notes))
        there = store.read_manifest(name)
        if name == EMBEDDED or (there and there.selection != selection):
            fix = f"choose another --name, or `dstress corpora remove {name}` first"
            raise CorpusError(f"there is a corpus {name!r}, and it is another one", fix=fix)
        splits = (("few-shot", self._split(split, part)) for split, part in parts.items())
        return store.add(name, selection, splits, database=store.stored_database(self.name))

    def _id(self, one: _Drawn) -> str:
        return f"{one.split}-{one.id}" if one.id in self._often else one.id

    def _split(self, name: str, part: _Part) -> Split:
        chosen = {(one.split, one.id): self._id(one) for one in part.chosen}

        def read() -> Iterator[LocatedDialogue]:
            for split, corpus in self.splits.items():
                for dialogue in corpus:
                    if id := chosen.get((split, dialogue.id)):
                        kept = _keep_service(dialogue, part.only) if part.only else dialogue
                        yield f"{self.name}:{split}", _replace(kept, id=id)

        return Split(name, part.schema, read, self.splits[part.chosen[0].split].language)


def store_single_domain(pool: Pool, name: str, domains: Sequence[str], sizes: Mapping[str, Sequence[int]]) -> Manifest:
    """Single-domain dialogues, as RADDLE and CheckDST take them: for each split a size for each domain."""
    schema = pool.schema(*domains)
    order = [split for split in (TEST, DEV, TRAIN) if any(sizes.get(split, ()))]
    chosen: dict[str, list[_Drawn]] = {split: [] for split in reversed(order)}
    notes = []
    for place, domain in enumerate(domains):
        there, wanted = pool.alone(domain), [sizes[split][place] for split in order]
        given = _shares(wanted, len(there))
        if given != wanted:
            got = ", ".join(f"{n} of {w} for {s}" for s, n, w in zip(order, given, wanted, strict=True))
            notes.append(f"{domain} has {len(there)} single-domain dialogues: {got}")
        for split, end, count in zip(order, accumulate(given), given, strict=True):
            chosen[split] += there[end - count : end]
    return pool.store(name, SINGLE_DOMAIN, {split: _Part(found, schema) for split, found in chosen.items()}, notes)


def store_k_shot(pool: Pool, name: str, sizes: Mapping[str, str]) -> Manifest:
    """Some training dialogues, `50` or `5%`; dev and test whole, or some of them."""
    parts, notes = {}, []
    for split in (TRAIN, DEV, TEST):
        if split == DEV and (sizes.get(split) == "0" or not same_split(pool.splits, split)):
            continue
        there = pool.of(split)
        wanted = _count(sizes[split], len(there)) if split in sizes else len(there)
        if wanted > len(there):
            notes.append(f"{len(there)} of {wanted} for {split}: there are no more")
        parts[split] = _Part(there[:wanted], pool.splits[pool.split(split)].schema)
    return pool.store(name, K_SHOT, parts, notes)


def store_left_out(pool: Pool, name: str, domain: str, shots: str = "0", test: str = "", draws: int = 1) -> Manifest:
    """Zero- and few-shot transfer to a domain: trained without it, then on `shots`, tested on it.

    Several draws of the shots are splits of one corpus (`shots.d1`), since all else is the same.
    """
    target = pool.schema(domain)

    def about(one: _Drawn) -> bool:
        return domain in one.services

    others = [service for service in pool.splits[pool.split(TRAIN)].schema.by_name if service != domain]
    parts = {
        split: _Part(pool.of(split, lambda one: not about(one)), pool.schema(*others))
        for split in (TRAIN, DEV)
        if split == TRAIN or same_split(pool.splits, split)
    }
    found, candidates = pool.of(TEST, about), pool.of(TRAIN, about)
    parts[TEST] = _Part(found[: _count(test, len(found))] if test else found, target, domain)
    if count := _count(shots, len(candidates)):
        for draw in range(draws):
            lots = sorted(candidates, key=lambda one: draw_lot(pool.seed + draw, one.id))
            parts[f"{SHOTS}.d{draw + 1}" if draws > 1 else SHOTS] = _Part(lots[:count], target, domain)
    return pool.store(name, LEAVE_ONE_OUT.format(domain=domain), parts)


def _services(dialogue: Dialogue) -> frozenset[str]:
    """The services that it is about: those it names, and those of its labels."""
    return frozenset(dialogue.services) | {service_of(slot) for turn in dialogue.turns for slot in turn.state}


def _count(size: str, there: int) -> int:
    """`50`, or `5%` of those that are there, but at least one."""
    number = size.removesuffix("%")
    if not number.isascii() or not number.isdigit():
        raise CorpusError(f"{size!r} is no number of dialogues", fix="write 50, or 5% of those that are there")
    return int(number) if number == size else min(there, max(1, there * int(number) // 100))


def _shares(wanted: Sequence[int], there: int) -> list[int]:
    """The sizes asked for; where there are fewer dialogues, all of them in that proportion (largest remainders)."""
    total = sum(wanted)
    if total <= there:
        return list(wanted)
    shares = [size * there // total for size in wanted]
    left = sorted(range(len(wanted)), key=lambda place: -(wanted[place] * there % total))
    for place in left[: there - sum(shares)]:
        shares[place] += 1
    return shares


def _keep_service(dialogue: Dialogue, service: str) -> Dialogue:
    """The dialogue with the labels of one service only; the words stay."""

    def state(whole: State) -> State:
        return {slot: values for slot, values in whole.items() if service_of(slot) == service}

    def turn(whole: Turn) -> Turn:
        return _replace(
            whole,
            state=state(whole.state),
            frames=tuple(frame for frame in whole.frames if frame.service == service),
            system_frames=tuple(frame for frame in whole.system_frames if frame.service == service),
            coreferences=tuple(one for one in whole.coreferences if service_of(one.slot) == service),
            booked=tuple(one for one in whole.booked if one == service),
        )

    goal = dialogue.goal
    if goal:
        asked = tuple(slot for slot in goal.request if service_of(slot) == service)
        goal = Goal(goal.description, state(goal.inform), state(goal.fallback), asked)
    last = tuple(frame for frame in dialogue.closing_frames if frame.service == service)
    turns = tuple(map(turn, dialogue.turns))
    return _replace(dialogue, turns=turns, services=(service,), goal=goal, closing_frames=last)
