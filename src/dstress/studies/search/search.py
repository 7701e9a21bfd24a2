"""Look for the composition and strength that breaks a tracker most per edited word, and say what it does elsewhere.

One half of the dialogues chooses, the other half, which the search never saw, reports: the best of many candidates on
the dialogues that chose it is partly luck. Single stressors open at a middle strength; the other strengths of the best
one and its compositions join once it is known a little. Labels are guarded throughout.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from random import Random
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.display import Displayed
from dstress.errors import DstressError, SpecError
from dstress.pipeline.probe import Probe
from dstress.pipeline.run import OnProgress
from dstress.runs.suites.base import ORIGINAL
from dstress.scoring.metrics.base import Floats
from dstress.scoring.resampling import Bounds, evaluate, interval, resampled_sums
from dstress.spec import parse
from dstress.stressors import create as create_stressor
from dstress.studies.search.contest import Contest
from dstress.studies.search.measurements import EDITED, LOST, RIGHT, TURNS, Measurements, Trial
from dstress.text.tables import read_table
from dstress.text.utterance import random_for
from dstress.trackers import Tracker
from dstress.trackers import create as create_tracker

Method = Literal["bounds", "random"]
Ladder = tuple[str, ...]
"""One stressor's specs, from weak to strong."""

BUDGET = 2000

_FEWEST_DIALOGUES = 4
_OPENING, _STRENGTHS_FROM, _TOGETHER_FROM = 2, 3, 5
"""Dialogues that every stressor is tried on, and from which on strengths and compositions of the best one join."""
_RANDOM_CANDIDATES = 24
_FRONTIER = 5
"""Compositions that are reported at most, beside the best one."""
_WELL_KNOWN = 3
"""A candidate of the frontier was tried on a share of one in so many of the dialogues that the best one was."""


class SearchOptions(NamedTuple):
    """How to search. `stressors` are the specs to try, weak ones first; empty: all of the table `strengths.toml`."""

    budget: int = BUDGET
    """Turns that are asked at most, half of them to choose and half to report."""
    seed: int = 1
    stressors: tuple[str, ...] = ()
    most: int = 3
    """Stressors in a composition."""
    convention: str = "exact"
    method: Method = "bounds"
    resamples: int = 2000
    on_progress: OnProgress = lambda what, done, total: None


class Measured(msgspec.Struct, frozen=True):
    """A number with its 95 % interval over dialogues; null ends where nothing is known."""

    value: float
    low: float
    high: float


class Point(msgspec.Struct, frozen=True):
    """What a composition does on dialogues that did not choose it."""

    spec: str
    dialogues: int
    turns: int
    edited: float
    """Edited words per turn."""
    accuracy: Measured
    """Turns with nothing wrong."""
    drop: Measured
    """The original's accuracy on the same dialogues less this one's."""
    broken: Measured
    """Turns that are lost per edited word."""
    is_winner: bool = False


class Tried(msgspec.Struct, frozen=True):
    """A candidate as the choosing half saw it: turns that were lost, edited words."""

    spec: str
    dialogues: int
    lost: int
    edited: int


class SearchResult(Displayed, msgspec.Struct, frozen=True):
    """The best composition and the frontier, on held-out dialogues, and all that was tried on the others."""

    tracker: str
    corpus: str
    convention: str
    method: Method
    seed: int
    budget: int
    asked_to_choose: int
    asked_to_report: int
    original: Measured
    """Accuracy on the original, on the dialogues that report."""
    winner: Point
    frontier: list[Point]
    tried: list[Tried]
    usage: dict[str, float] = {}
    notes: list[str] = []

    def __repr__(self) -> str:
        return f"SearchResult({self.winner.spec}: {100 * self.winner.broken.value:.1f} turns per 100 edited words)"


def search(
    tracker: str | Tracker,
    corpus: str | Corpus,
    options: SearchOptions = SearchOptions(),  # noqa: B008  it is frozen
) -> SearchResult:
    """Search with a tracker on a corpus; the same seed finds the same."""
    tracker = create_tracker(tracker) if isinstance(tracker, str) else tracker
    loaded = load(corpus) if isinstance(corpus, str) else corpus
    with Probe(tracker, loaded, options.convention) as probe:
        return search_measured(Measurements(probe, loaded, options.seed), options)


def search_measured(measurements: Measurements, options: SearchOptions) -> SearchResult:
    """The same with what is known already, which counts as asked anew: several searches may share their answers."""
    names = sorted(measurements.dialogues)
    if len(names) < _FEWEST_DIALOGUES:
        raise DstressError(
            f"{len(names)} dialogues cannot be halved into some that choose and some that report",
            fix=f"give at least {_FEWEST_DIALOGUES}",
        )
    random_for(options.seed, "halves").shuffle(names)
    ladders, notes = _possible(measurements, read_ladders(options.stressors))
    contest = Contest(measurements, names[::2], options.budget // 2, losses_only=True)
    if options.method == "bounds":
        _search(contest, ladders, options)
    else:  # the same budget, evenly, on compositions that chance proposes: what the search must beat
        random, tried_on = random_for(options.seed, "random compositions"), 0
        drawn = dict.fromkeys(draw_composition(ladders, options.most, random) for _ in range(_RANDOM_CANDIDATES))
        while contest.extend(list(drawn), tried_on + 1):
            tried_on += 1
    winner = contest.pick() if contest.seen else ""
    chosen = _frontier(contest, winner) if winner else []
    report, count = Contest(measurements, names[1::2], options.budget - contest.spent), 0
    while chosen and report.extend(chosen, count + 1):
        count += 1
        options.on_progress("reporting on held-out dialogues", report.spent, report.budget)
    if not count:
        turns = measurements.cost(Trial(ORIGINAL, names[0]))
        raise DstressError(
            f"the budget of {options.budget:,} turns ended before anything could be reported",
            fix=f"a dialogue has some {turns} turns, and every candidate is asked about several: raise the budget",
        )
    points = [_point(spec, report.totals(spec), options, is_winner=spec == winner) for spec in chosen]
    originals = [Trial(ORIGINAL, name) for name in report.names[:count]]
    tried = []
    for spec in contest.seen:
        totals = contest.totals(spec)
        tried.append(Tried(spec, len(totals), *totals[:, (LOST, EDITED)].sum(axis=0).astype(int).tolist()))
    tracker = measurements.probe.tracker
    return SearchResult(
        tracker.spec or type(tracker).__name__,
        f"{measurements.corpus.name}:{measurements.corpus.split}",
        options.convention,
        options.method,
        options.seed,
        options.budget,
        contest.spent,
        report.spent,
        _measured(measurements.counts(originals), RIGHT, TURNS, options),
        next(point for point in points if point.is_winner),
        sorted(points, key=lambda point: (point.edited, point.spec)),
        tried,
        dict(measurements.probe.usage),
        notes,
    )


def read_ladders(specs: Sequence[str] = ()) -> dict[str, Ladder]:
    """The stressors to try by name: those of the table, or the specs that are given, in their order."""
    ladders: dict[str, list[str]] = {}
    for spec in specs:
        ladders.setdefault(parse(spec).name, []).append(create_stressor(spec).spec)
    ladders = ladders or {name: list(row) for name, row in read_table(__package__, "strengths.toml").items()}
    for spec in (spec for row in ladders.values() for spec in row):
        composed = create_stressor(spec)
        if not composed.guarded or composed.scope == "schema":
            what = "changes the schema and no words" if composed.scope == "schema" else "has no label guard"
            raise SpecError(f"{spec} {what}, so a search could not tell harm from a lost label", fix="leave it out")
    return {name: tuple(dict.fromkeys(row)) for name, row in ladders.items()}


def compose(parts: Iterable[str]) -> str:
    """These specs together, in the order in which stressors are applied."""
    return create_stressor("+".join(parts)).spec


def draw_composition(ladders: dict[str, Ladder], most: int, random: Random) -> str:
    """Any composition of one to `most` stressors, each as strong as chance has it."""
    names = random.sample(sorted(ladders), random.randint(1, min(most, len(ladders))))
    return compose(random.choice(ladders[name]) for name in names)


def _possible(measurements: Measurements, ladders: dict[str, Ladder]) -> tuple[dict[str, Ladder], list[str]]:
    """The stressors that this corpus and machine allow, and why others are left out."""
    possible, notes = {}, []
    for name, ladder in ladders.items():
        try:
            for spec in ladder:
                measurements.prepare(spec)
            possible[name] = ladder
        except DstressError as error:
            notes.append(f"{name} is left out: {error.problem}")
    if not possible:
        raise DstressError("no stressor can be tried", fix="; ".join(notes))
    return possible, notes


def _search(contest: Contest, ladders: dict[str, Ladder], options: SearchOptions) -> None:
    """Best first: each dialogue more goes to the candidate that may yet be the best."""
    pool = [ladder[len(ladder) // 2] for ladder in ladders.values()]
    for count in range(1, _OPENING + 1):
        for spec in pool:
            contest.extend([spec], count)
    while contest.seen:
        options.on_progress("choosing", contest.spent, contest.budget)
        pool += _joining(contest, pool, ladders, options.most)
        left = [spec for spec in pool if contest.seen.get(spec, 0) < len(contest.names)]
        if not left:
            return
        spec = contest.most_promising(left)
        if not contest.extend([spec], contest.seen.get(spec, 0) + 1):
            return


def _joining(contest: Contest, pool: list[str], ladders: dict[str, Ladder], most: int) -> list[str]:
    """What is tried from now on: the best stressor's strengths; later the best candidate with the next stressor."""
    ranked, tried = contest.ranked(pool), max(contest.seen.values())
    names = {spec: name for name, ladder in ladders.items() for spec in ladder}
    singles = [spec for spec in ranked if spec in names]
    new = [spec for spec in ladders[names[singles[0]]] if spec not in pool] if tried >= _STRENGTHS_FROM else []
    if new or tried < _TOGETHER_FROM:
        return new
    parts = ranked[0].split("+")
    others = [spec for spec in singles if names[spec] not in {names.get(part) for part in parts}]
    together = [compose([*parts, others[0]])] if others and len(parts) < most else []
    return [spec for spec in together if spec not in pool]


def _frontier(contest: Contest, winner: str) -> list[str]:
    """Candidates that nothing beats which edits less, by what the choosing half shows; the winner among them."""
    well_known = [spec for spec in contest.seen if _WELL_KNOWN * contest.seen[spec] >= contest.seen[winner]]
    places = {}
    for spec in well_known:
        sums = contest.totals(spec).sum(axis=0)
        places[spec] = (sums[EDITED] / sums[TURNS], sums[LOST] / sums[TURNS])
    frontier, most = [], 0.0
    for spec in sorted(well_known, key=lambda spec: (places[spec][0], -places[spec][1])):
        if places[spec][1] > most:
            frontier.append(spec)
            most = places[spec][1]
    if len(frontier) > _FRONTIER:  # evenly strewn, with both ends
        frontier = [frontier[round(place)] for place in np.linspace(0, len(frontier) - 1, _FRONTIER)]
    return frontier if winner in frontier else [*frontier, winner]


def _point(spec: str, totals: Floats, options: SearchOptions, *, is_winner: bool) -> Point:
    turns, _, _, edited = totals.sum(axis=0).tolist()
    accuracy, drop, broken = (
        _measured(totals, part, whole, options) for part, whole in ((RIGHT, TURNS), (LOST, TURNS), (LOST, EDITED))
    )
    return Point(spec, len(totals), int(turns), edited / turns, accuracy, drop, broken, is_winner)


def _measured(totals: Floats, part: int, whole: int, options: SearchOptions) -> Measured:
    """A ratio with its interval; only an accuracy is between 0 and 1."""

    def value(sums: Floats) -> Floats:
        return np.asarray(sums[..., part] / sums[..., whole], np.float64)

    resampled = partial(resampled_sums, totals, options.resamples, options.seed)
    bounds = Bounds(len(totals)) if part == RIGHT else None
    ends = interval(totals, resampled, value, 0.95, "logit", bounds)
    return Measured(float(evaluate(value, totals.sum(axis=0))), *ends)
