"""One tracker on several versions of the data: a stressed copy (CheckDST), schema variants (SGD-X)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dstress._version import __version__
from dstress.errors import DstressError, PredictionError
from dstress.metrics.base import Floats
from dstress.metrics.consistency import Cjga, ConsistentJga, OverRuns, paired
from dstress.metrics.sensitivity import DiffRel, OverVariants, Sensitivity
from dstress.scoring.open_pair import PredictionSource, load_system, usual_convention
from dstress.scoring.resampling import interval, resampled_sums
from dstress.scoring.score import COMPARING, ScoringOptions
from dstress.scoring.scorecard import Score, Scorecard, signature_text
from dstress.scoring.unit_scores import UnitScores, score_units


def conditional(
    original: PredictionSource,
    stressed: PredictionSource,
    convention: str = "",
    options: ScoringOptions = COMPARING,
) -> Scorecard:
    """CheckDST's `cjga` and `consistent-jga` of one tracker on a test set and on its stressed copy.

    Units pair by dialogue, turn and, where the convention scores frames, service; files may hold a part of the turns.
    """
    systems = [
        load_system(source, f"run {number}", options.format)
        for number, source in enumerate((original, stressed), start=1)
    ]
    convention = convention or usual_convention(systems)
    units = [score_units(system, convention, "jga", options) for system in systems]
    return conditional_card(units, convention, options)


def conditional_card(units: Sequence[UnitScores], convention: str, options: ScoringOptions) -> Scorecard:
    """The same from what is known of each unit: of the original first, then of the stressed copy."""
    return _card(units, [Cjga(), ConsistentJga()], {"conv": convention}, options)


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
    card = _card(units, [OverVariants(metric), Sensitivity(metric)], parts, options)
    if original is not None:
        relative = _card([original, *units], [DiffRel()], parts, options)
        card.metrics["diff-rel"] = relative["diff-rel"]
        card.notes.extend(note for note in relative.notes if note not in card.notes)
    return card


def _card(
    scores: Sequence[UnitScores],
    metrics: Sequence[OverRuns],
    parts: dict[str, str],
    options: ScoringOptions,
) -> Scorecard:
    """Scores of metrics over the systems' shared units, with intervals over dialogues."""
    units = paired([one.names for one in scores], [one.values for one in scores])
    defined = np.asarray(~np.isnan(units.table).any(axis=1), np.bool_)
    if not defined.any():
        raise PredictionError("the runs share no unit", fix="are these runs over versions of the same dialogues?")
    notes = [f"{units.left_out:,} units without a partner in every run are left out"] if units.left_out else []
    if undefined := len(defined) - int(defined.sum()):
        notes.append(f"{undefined:,} units for which the metric is undefined are left out")
    names, table = units.names[defined], units.table[defined]
    signature = {
        "corpus": scores[0].corpus,
        "units": str(len(names)),
        "unpaired": str(units.left_out),
        **parts,
        "unit": scores[0].unit,
    }
    signature |= {"boot": f"{options.interval}.{options.resamples}", "seed": str(options.seed)}
    signature |= {"data": "+".join(dict.fromkeys(one.data for one in scores)), "dstress": __version__}
    _, dialogue = np.unique([name.rsplit("/", 2)[0] for name in names], return_inverse=True)
    found = {}
    for metric in metrics:
        statistics = metric.statistics(table)
        totals: Floats = np.column_stack([np.bincount(dialogue, column) for column in statistics.T]).astype(np.float64)
        resampled = resampled_sums(totals, options.resamples, options.seed)
        low, high = interval(totals, resampled, metric.value, options.level, options.interval)
        sums = totals.sum(axis=0)
        text = signature_text(metric.name, signature)
        found[metric.name] = Score(float(metric.value(sums)), low, high, metric.count(sums), text)
    return Scorecard(signature, found, notes=notes)
