"""One tracker on several versions of the data: a stressed copy (CheckDST), schema variants (SGD-X)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from dstress._version import __version__
from dstress.errors import DstressError, PredictionError
from dstress.schema_names import names_back
from dstress.scoring.alignment.columns import Booleans, Integers
from dstress.scoring.metrics import OverPairs, pair_metrics
from dstress.scoring.metrics.base import Floats
from dstress.scoring.metrics.consistency import Names, OverRuns, paired, places_of
from dstress.scoring.metrics.sensitivity import DiffRel, NeverRight, OnOriginal, OverVariants, Sensitivity
from dstress.scoring.open_pair import LoadedSystem, PredictionSource, load_system, usual_convention
from dstress.scoring.resampling import Bounds, counted_dialogues, interval, is_thin, resampled_sums
from dstress.scoring.score import COMPARING, ScoringOptions, say_thin, signature_of_interval
from dstress.scoring.scorecard import UNITS, Score, Scorecard, signature_text
from dstress.scoring.slices import CHANGED, KEYS, SLICES, Slicing, missing_key, possible_slices
from dstress.scoring.unit_scores import UnitScores, score_units

V = TypeVar("V")

PAIR_METRICS = ("cjga", "consistent-jga", "newly-wrong", "newly-right", "always-wrong")
"""What is measured of pairs, unless something else is asked for."""
WHAT_WAS_DONE = ("changed", "stress")
"""Slices of pairs, by what a stressor did to the copy."""


class Cut(NamedTuple):
    """The slices to score as well, or the one part, such as ("seen", "unseen"), that is scored at all."""

    by: tuple[str, ...] = ()
    part: tuple[str, str] | None = None


WHOLE = Cut()


def conditional(
    original: PredictionSource,
    stressed: PredictionSource,
    convention: str = "",
    options: ScoringOptions = COMPARING,
    metrics: Sequence[str] = PAIR_METRICS,
    by: Sequence[str] = (),
) -> Scorecard:
    """CheckDST's `cjga` and `consistent-jga` of one tracker on a test set and on its stressed copy.

    Units pair by dialogue, turn and, where the convention scores frames, service; files may hold a part of the turns.
    Only pairs that differ count: in their words, or in their gold. `cjga(over=all)` is over the others too. `by` names
    slices: a pair has the keys of its original, but what was done to it is told by the copy.
    """
    systems = [
        load_system(source, f"run {number}", options.format)
        for number, source in enumerate((original, stressed), start=1)
    ]
    convention = convention or usual_convention(systems)
    slicing = _slicing(systems, by)
    units = [score_units(system, convention, "jga", options, slicing=slicing) for system in systems]
    return conditional_card((units[0], units[1]), convention, options, metrics, Cut(tuple(by)))


def conditional_card(
    units: tuple[UnitScores, UnitScores],
    convention: str,
    options: ScoringOptions,
    metrics: Sequence[str] = PAIR_METRICS,
    cut: Cut = WHOLE,
    *,
    all_changed: bool = False,
) -> Scorecard:
    """The same from what is known of each unit: of the original first, then of the stressed copy.

    `all_changed` says that the copy is another one throughout, although turns look the same: its schema is another.
    """
    chosen = [pair_metrics.create(metric) for metric in metrics]
    return _card(units, chosen, {"conv": convention}, options, cut, all_changed=all_changed)


def variants(
    sources: Sequence[PredictionSource],
    original: PredictionSource | None = None,
    metric: str = "jga",
    convention: str = "",
    options: ScoringOptions = COMPARING,
    by: Sequence[str] = (),
) -> Scorecard:
    """SGD-X's `jga-v1-5` and `ss(jga)` of one tracker over schema variants, and with the original `diff-rel`.

    Units pair by dialogue, turn and position of the frame, since a variant renames the services. Units for which the
    metric is undefined (average goal accuracy of an empty gold) are left out. All scores are over the same units.
    `by` names slices, whose keys are the original's, or else the first variant's: `by=["seen"]` gives SGD-X's table 2.
    """
    if done := next((name for name in by if name in WHAT_WAS_DONE), None):
        raise slice_of_variants(done)
    if len(sources) < 2:
        raise DstressError(f"{len(sources)} variants do not show variation", fix="give two or more, SGD-X has five")
    systems = [
        load_system(source, f"variant {number}", options.format) for number, source in enumerate(sources, start=1)
    ]
    if original is not None:
        systems.insert(0, load_system(original, "original", options.format))
    convention, slicing = convention or usual_convention(systems), _slicing(systems, by)
    units = []
    for system in systems:
        own = slicing._replace(names=names_back(systems[0].corpus.schema, system.corpus.schema))
        units.append(score_units(system, convention, metric, options, by_service=False, slicing=own))
    first = None if original is None else units.pop(0)
    return variants_card(units, first, metric, convention, options, Cut(tuple(by)))


def measures_of_variants(metric: str) -> tuple[list[OverRuns], list[OverRuns]]:
    """What is computed of several variants together, and what needs the original as well."""
    of_variants = [OverVariants(metric), Sensitivity(metric), Sensitivity(metric, "ever-right"), NeverRight()]
    return of_variants, [OnOriginal(metric), DiffRel()]


def variants_card(
    units: Sequence[UnitScores],
    original: UnitScores | None,
    metric: str,
    convention: str,
    options: ScoringOptions,
    cut: Cut = WHOLE,
) -> Scorecard:
    """The same from what is known of each unit, by position. The order is that of SGD-X's table 2."""
    parts = {"variants": str(len(units)), "conv": convention}
    of_variants, with_original = measures_of_variants(metric)
    card = _card(units, of_variants, parts, options, cut)
    if original is None:
        return card
    relative = _card([original, *units], with_original, parts, options, cut)
    card.notes.extend(note for note in relative.notes if note not in card.notes)
    order = (f"{metric}-orig", f"{metric}-v1-5", "diff-rel")
    card.metrics = _ordered(card.metrics | relative.metrics, order)
    for name, keys in relative.slices.items():
        for key, values in keys.items():
            card.slices[name][key] = _ordered(values | card.slices[name].get(key, {}), (UNITS, *order))
    return card


def slice_of_variants(name: str, *, where: str = "") -> DstressError:
    """Of measures over variants, which are others throughout, there is no part that was changed."""
    possible = ", ".join(other for other in SLICES if other not in WHAT_WAS_DONE)
    return DstressError(
        f"variants differ throughout, so {name!r} cuts nothing", where=where, fix=f"possible: {possible}"
    )


def _ordered(scores: dict[str, V], first: Sequence[str]) -> dict[str, V]:
    return {name: scores[name] for name in (*first, *scores) if name in scores}


def _slicing(systems: Sequence[LoadedSystem], by: Sequence[str]) -> Slicing:
    """How to cut several versions: what training shows is told by the first that knows, in the names of the first."""
    first = systems[0].corpus
    knowing = next((system.corpus for system in systems if system.corpus.seen is not None), first)
    collected = tuple(name for name in by if name != CHANGED)  # seen where pairs are brought together
    possible_slices(collected, knowing)
    names = names_back(first.schema, knowing.schema).services
    seen = None if knowing.seen is None else {names.get(service, service) for service in knowing.seen}
    return Slicing(collected, seen)


class SideBySide(NamedTuple):
    """The units that every version has, a row each: which dialogue a row is of, its values, whether it was changed."""

    names: Names
    table: Floats
    changed: Booleans
    left_out: int
    notes: list[str]
    versions: Sequence[UnitScores] = ()
    places: Sequence[Integers] = ()
    """Where each version has the rows."""

    def keys(self, name: str) -> list[str]:
        """The keys of a slice."""
        if name == CHANGED:
            return list(KEYS[name])
        results = dict.fromkeys(key for version in self.versions for key in version.slices[name].keys)
        return sorted(results, key=lambda key: (int(key) if key.isdecimal() else 0, key))

    def part(self, name: str, key: str) -> SideBySide:
        """The rows of one key. Where keys are less than a unit, a row is there if any version has something of it."""
        if name == CHANGED:
            rows = np.asarray(self.changed == (key == CHANGED), np.bool_)
            return self._rows(rows, self.table)._replace(changed=np.ones(int(rows.sum()), np.bool_))
        slices = [version.slices[name] for version in self.versions]
        parts = list(zip((each.part(key) for each in slices), self.places, strict=True))
        having = np.column_stack([part.units[place] for part, place in parts])
        table = np.column_stack([part.values[place] for part, place in parts])
        teller = -1 if name in WHAT_WAS_DONE else 0
        has_value = having.any(axis=1) if slices[0].cuts else having[:, teller]
        return self._rows(np.asarray(has_value & ~np.isnan(table).any(axis=1), np.bool_), table)

    def _rows(self, rows: Booleans, table: Floats) -> SideBySide:
        return SideBySide(self.names[rows], table[rows], self.changed[rows], self.left_out, self.notes)

    def dialogues(self) -> tuple[list[str], Integers]:
        """The dialogues in order, and the place among them of each row's."""
        ids, place = np.unique([name.rsplit("/", 2)[0] for name in self.names], return_inverse=True)
        return ids.tolist(), np.asarray(place, np.int64)

    def totals(self, metric: OverRuns) -> Floats:
        """A metric's statistics summed by dialogue, over the rows that it looks at."""
        looks_at = self._rows_for(metric)
        ids, place = self.dialogues()
        statistics, place = metric.statistics(self.table[looks_at]), place[looks_at]
        columns = [np.bincount(place, column, len(ids)) for column in statistics.T]
        return np.column_stack(columns).astype(np.float64)

    def values(self, metrics: Sequence[OverRuns]) -> dict[str, float | None]:
        """Metrics without their intervals, and the units that they look at; None where one is undefined."""
        results: dict[str, float | None] = {UNITS: float(len(self.names[self._rows_for(metrics[0])]))}
        for metric in metrics:
            value = float(metric.value(metric.statistics(self.table[self._rows_for(metric)]).sum(axis=0)))
            results[metric.name] = None if np.isnan(value) else value
        return results

    def _rows_for(self, metric: OverRuns) -> Booleans:
        only_changed = isinstance(metric, OverPairs) and metric.over == "changed"
        return self.changed if only_changed else np.ones(len(self.names), np.bool_)


def side_by_side(scores: Sequence[UnitScores], *, all_changed: bool = False) -> SideBySide:
    """Bring versions together unit by unit; the first is what the others are changed from, if they are."""
    units = paired([version.names for version in scores], [version.values for version in scores])
    defined = np.asarray(~np.isnan(units.table).any(axis=1), np.bool_)
    if not defined.any():
        raise PredictionError("the runs share no unit", fix="are these runs over versions of the same dialogues?")
    notes = [f"{units.left_out:,} units without a partner in every run are left out"] if units.left_out else []
    if undefined := len(defined) - int(defined.sum()):
        notes.append(f"{undefined:,} units for which the metric is undefined are left out")
    names, changed = units.names[defined], np.ones(int(defined.sum()), np.bool_)
    places = [places_of(names, version.names) for version in scores]
    if len(scores) == 2 and not all_changed:
        before, after = ([version.turns[at] for at in place] for version, place in zip(scores, places, strict=True))
        # A turn is another than it was in its label, or in its words, where both versions have them.
        for row, (old, new) in enumerate(zip(before, after, strict=True)):
            reworded = old.user and new.user and (old.user, old.system) != (new.user, new.system)
            changed[row] = new.changed or bool(reworded) or old.state != new.state
        if not any(turn.user for turn in after):
            notes.append(_WORDLESS if changed.any() else _ALIKE)
            changed |= not changed.any()
    return SideBySide(names, units.table[defined], changed, units.left_out, notes, scores, places)


_WORDLESS = "the files hold no words, so a turn counts as changed where its gold is another"
_ALIKE = "the files hold no words and their gold is the same, so every turn counts as changed"


def _card(
    scores: Sequence[UnitScores],
    metrics: Sequence[OverRuns],
    parts: dict[str, str],
    options: ScoringOptions,
    cut: Cut,
    *,
    all_changed: bool = False,
) -> Scorecard:
    """Scores of metrics over the systems' shared units, with intervals over dialogues."""
    units = side_by_side(scores, all_changed=all_changed)
    if cut.part:
        name, key = cut.part
        keys, units, parts = units.keys(name), units.part(name, key), parts | {name: key}
        if not len(units.names):
            raise missing_key(name, key, keys)
    signature = {"corpus": scores[0].corpus, "units": str(len(units.names)), "unpaired": str(units.left_out)}
    if any(isinstance(metric, OverPairs) for metric in metrics):
        signature["changed"] = str(int(units.changed.sum()))
    signature |= {**parts, "unit": scores[0].unit}
    signature |= signature_of_interval(options.interval, options)
    signature |= {"data": "+".join(dict.fromkeys(version.data for version in scores)), "dstress": __version__}
    results, thin = {}, []
    for metric in metrics:
        totals = units.totals(metric)
        low, high = interval(
            totals,
            partial(resampled_sums, totals, options.resamples, options.seed),
            metric.value,
            options.level,
            options.interval,
            Bounds(int(counted_dialogues(totals).max())) if metric.bounded else None,
        )
        if metric.bounded and is_thin(totals, metric.value):
            thin.append(metric.name)
        sums = totals.sum(axis=0)
        kind = options.interval if metric.bounded or options.interval != "logit" else "bca"
        text = signature_text(metric.name, signature | signature_of_interval(kind, options))
        results[metric.name] = Score(float(metric.value(sums)), low, high, metric.count(sums), text)
    slices = {
        name: {key: part.values(metrics) for key in units.keys(name) if len((part := units.part(name, key)).names)}
        for name in cut.by
    }
    return Scorecard(signature, results, slices, notes=[*units.notes, *([say_thin(thin)] if thin else [])])
