"""One tracker on several versions of the data: a stressed copy (CheckDST), schema variants (SGD-X)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dstress._version import __version__
from dstress.alignment.columns import Booleans, Integers
from dstress.dialogue import Turn
from dstress.errors import DstressError, PredictionError
from dstress.metrics import OverPairs, pair_metrics
from dstress.metrics.base import Floats
from dstress.metrics.consistency import Names, OverRuns, paired, places_of
from dstress.metrics.sensitivity import DiffRel, NeverRight, OverVariants, Sensitivity
from dstress.scoring.open_pair import PredictionSource, load_system, usual_convention
from dstress.scoring.resampling import counted_dialogues, interval, resampled_sums
from dstress.scoring.score import COMPARING, ScoringOptions
from dstress.scoring.scorecard import Score, Scorecard, signature_text
from dstress.scoring.unit_scores import UnitScores, score_units

PAIR_METRICS = ("cjga", "consistent-jga", "newly-wrong", "newly-right", "always-wrong")
"""What is measured of pairs, unless something else is asked for."""


def conditional(
    original: PredictionSource,
    stressed: PredictionSource,
    convention: str = "",
    options: ScoringOptions = COMPARING,
    metrics: Sequence[str] = PAIR_METRICS,
) -> Scorecard:
    """CheckDST's `cjga` and `consistent-jga` of one tracker on a test set and on its stressed copy.

    Units pair by dialogue, turn and, where the convention scores frames, service; files may hold a part of the turns.
    Only pairs that differ count: in their words, or in their gold. `cjga(over=all)` is over the others too.
    """
    systems = [
        load_system(source, f"run {number}", options.format)
        for number, source in enumerate((original, stressed), start=1)
    ]
    convention = convention or usual_convention(systems)
    units = [score_units(system, convention, "jga", options) for system in systems]
    return conditional_card((units[0], units[1]), convention, options, metrics)


def conditional_card(
    units: tuple[UnitScores, UnitScores],
    convention: str,
    options: ScoringOptions,
    metrics: Sequence[str] = PAIR_METRICS,
    *,
    all_changed: bool = False,
) -> Scorecard:
    """The same from what is known of each unit: of the original first, then of the stressed copy.

    `all_changed` says that the copy is another one throughout, although turns look the same: its schema is another.
    """
    chosen = [pair_metrics.create(metric) for metric in metrics]
    return _card(units, chosen, {"conv": convention}, options, all_changed=all_changed)


def variants(
    sources: Sequence[PredictionSource],
    original: PredictionSource | None = None,
    metric: str = "jga",
    convention: str = "",
    options: ScoringOptions = COMPARING,
) -> Scorecard:
    """SGD-X's `jga-v1-5` and `ss(jga)` of one tracker over schema variants, and with the original `diff-rel`.

    Units pair by dialogue, turn and position of the frame, since a variant renames the services. Units for which the
    metric is undefined (average goal accuracy of an empty gold) are left out. All scores are over the same units.
    """
    if len(sources) < 2:
        raise DstressError(f"{len(sources)} variants do not show variation", fix="give two or more, SGD-X has five")
    systems = [
        load_system(source, f"variant {number}", options.format) for number, source in enumerate(sources, start=1)
    ]
    first = [] if original is None else [load_system(original, "original", options.format)]
    convention = convention or usual_convention(first + systems)
    units = [score_units(system, convention, metric, options, by_service=False) for system in first + systems]
    return variants_card(units[len(first) :], units[0] if first else None, metric, convention, options)


def variants_card(
    units: Sequence[UnitScores],
    original: UnitScores | None,
    metric: str,
    convention: str,
    options: ScoringOptions,
) -> Scorecard:
    """The same from what is known of each unit, by position."""
    parts = {"variants": str(len(units)), "conv": convention}
    card = _card(
        units,
        [OverVariants(metric), Sensitivity(metric), Sensitivity(metric, "ever-right"), NeverRight()],
        parts,
        options,
    )
    if original is not None:
        relative = _card([original, *units], [DiffRel()], parts, options)
        card.metrics["diff-rel"] = relative["diff-rel"]
        card.notes.extend(note for note in relative.notes if note not in card.notes)
    return card


class SideBySide(NamedTuple):
    """The units that every version has, a row each: which dialogue a row is of, its values, whether it was changed."""

    names: Names
    table: Floats
    changed: Booleans
    left_out: int
    notes: list[str]

    def dialogues(self) -> tuple[list[str], Integers]:
        """The dialogues in order, and the place among them of each row's."""
        ids, place = np.unique([name.rsplit("/", 2)[0] for name in self.names], return_inverse=True)
        return ids.tolist(), np.asarray(place, np.int64)

    def totals(self, metric: OverRuns) -> Floats:
        """A metric's statistics summed by dialogue, over the rows that it looks at."""
        looks_at = self.changed if isinstance(metric, OverPairs) and metric.over == "changed" else slice(None)
        ids, place = self.dialogues()
        statistics, place = metric.statistics(self.table[looks_at]), place[looks_at]
        columns = [np.bincount(place, column, len(ids)) for column in statistics.T]
        return np.column_stack(columns).astype(np.float64)


def side_by_side(scores: Sequence[UnitScores], *, all_changed: bool = False) -> SideBySide:
    """Bring versions together unit by unit; the first is what the others are changed from, if they are."""
    units = paired([one.names for one in scores], [one.values for one in scores])
    defined = np.asarray(~np.isnan(units.table).any(axis=1), np.bool_)
    if not defined.any():
        raise PredictionError("the runs share no unit", fix="are these runs over versions of the same dialogues?")
    notes = [f"{units.left_out:,} units without a partner in every run are left out"] if units.left_out else []
    if undefined := len(defined) - int(defined.sum()):
        notes.append(f"{undefined:,} units for which the metric is undefined are left out")
    names, changed = units.names[defined], np.ones(int(defined.sum()), np.bool_)
    if len(scores) == 2 and not all_changed:
        before, after = ([one.turns[place] for place in places_of(names, one.names)] for one in scores)
        changed = np.array([_differs(*turns) for turns in zip(before, after, strict=True)], np.bool_)
        if not any(turn.user for turn in after):
            notes.append(_WORDLESS if changed.any() else _ALIKE)
            changed |= not changed.any()
    return SideBySide(names, units.table[defined], changed, units.left_out, notes)


_WORDLESS = "the files hold no words, so a turn counts as changed where its gold is another"
_ALIKE = "the files hold no words and their gold is the same, so every turn counts as changed"


def _differs(original: Turn, copy: Turn) -> bool:
    """Whether a turn is another than it was: in its label, or in its words, where both versions have them."""
    spoken = bool(original.user and copy.user)
    words = spoken and (original.user, original.system) != (copy.user, copy.system)
    return copy.changed or words or original.state != copy.state


def _card(
    scores: Sequence[UnitScores],
    metrics: Sequence[OverRuns],
    parts: dict[str, str],
    options: ScoringOptions,
    *,
    all_changed: bool = False,
) -> Scorecard:
    """Scores of metrics over the systems' shared units, with intervals over dialogues."""
    units = side_by_side(scores, all_changed=all_changed)
    signature = {"corpus": scores[0].corpus, "units": str(len(units.names)), "unpaired": str(units.left_out)}
    if any(isinstance(metric, OverPairs) for metric in metrics):
        signature["changed"] = str(int(units.changed.sum()))
    signature |= {**parts, "unit": scores[0].unit}
    signature |= {"boot": f"{options.interval}.{options.resamples}", "seed": str(options.seed)}
    signature |= {"data": "+".join(dict.fromkeys(one.data for one in scores)), "dstress": __version__}
    found = {}
    for metric in metrics:
        totals = units.totals(metric)
        resampled = resampled_sums(totals, options.resamples, options.seed)
        low, high = interval(
            totals,
            resampled,
            metric.value,
            options.level,
            options.interval,
            int(counted_dialogues(totals).max()) if metric.bounded else None,
        )
        sums = totals.sum(axis=0)
        text = signature_text(metric.name, signature)
        found[metric.name] = Score(float(metric.value(sums)), low, high, metric.count(sums), text)
    return Scorecard(signature, found, notes=units.notes)
