"""One tracker on several versions of the data: a stressed copy (CheckDST), schema variants (SGD-X)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dstress._version import __version__
from dstress.errors import DstressError, PredictionError
from dstress.metrics import metrics as known_metrics
from dstress.metrics.base import Floats
from dstress.metrics.consistency import Cjga, ConsistentJga, OverRuns, PairedUnits, paired
from dstress.metrics.sensitivity import DiffRel, OverVariants, Sensitivity
from dstress.scoring.resampling import bca_interval, percentile_interval, resampled_sums
from dstress.scoring.score import Options
from dstress.scoring.scorecard import Score, Scorecard, signature_text
from dstress.scoring.systems import OPTIONS, Held, Judged, Run, hold, judge, usual_convention


def conditional(original: Run, stressed: Run, convention: str = "", options: Options = OPTIONS) -> Scorecard:
    """CheckDST's `cjga` and `consistent-jga` of one tracker on a test set and on its stressed copy.

    Units pair by dialogue, turn and, where the convention scores frames, service; files may hold a part of the turns.
    """
    held = [hold(run, options, f"run {number}") for number, run in enumerate((original, stressed), start=1)]
    text = convention or usual_convention(held)
    found = [judge(run, text, known_metrics.create("jga"), options, by_service=True) for run in held]
    return _card(held, found, [Cjga(), ConsistentJga()], {"conv": text}, options)


def variants(
    runs: Sequence[Run],
    original: Run | None = None,
    metric: str = "jga",
    convention: str = "",
    options: Options = OPTIONS,
) -> Scorecard:
    """SGD-X's `jga-v1-5` and `ss(jga)` of one tracker over schema variants, and with the original `diff-rel`.

    Units pair by dialogue, turn and position of the frame, since a variant renames the services. Units for which the
    metric is undefined (average goal accuracy of an empty gold) are left out. All scores are over the same units.
    """
    if len(runs) < 2:
        raise DstressError(f"{len(runs)} variants do not show variation", fix="give two or more, SGD-X has five")
    held = [hold(run, options, f"variant {number}") for number, run in enumerate(runs, start=1)]
    first = [] if original is None else [hold(original, options, "original")]
    text = convention or usual_convention(first + held)
    made = known_metrics.create(metric)
    judged = [judge(run, text, made, options, by_service=False) for run in first + held]
    found: list[OverRuns] = [OverVariants(metric), Sensitivity(metric)]
    parts = {"variants": str(len(runs)), "conv": text}
    card = _card(held, judged[len(first) :], found, parts, options)
    if first:
        relative = _card(first, judged, [DiffRel()], parts, options)
        card.metrics["diff-rel"] = relative["diff-rel"]
        card.notes.extend(note for note in relative.notes if note not in card.notes)
    return card


def _card(
    held: Sequence[Held], judged: Sequence[Judged], found: Sequence[OverRuns], parts: dict[str, str], options: Options
) -> Scorecard:
    """Scores of metrics over the runs' shared units, with intervals over dialogues."""
    units = paired([run.names for run in judged], [run.values for run in judged])
    defined = np.asarray(~np.isnan(units.table).any(axis=1), np.bool_)
    if not defined.any():
        raise PredictionError("the runs share no unit", fix="are these runs over versions of the same dialogues?")
    notes = [f"{units.left_out:,} units without a partner in every run are left out"] if units.left_out else []
    if undefined := len(defined) - int(defined.sum()):
        notes.append(f"{undefined:,} units for which the metric is undefined are left out")
    units = PairedUnits(units.names[defined], units.table[defined], units.left_out)
    corpus = held[0].corpus
    signature = {"corpus": f"{corpus.name}.{corpus.split}" if corpus.split else corpus.name}
    signature |= {"units": str(len(units.names)), "unpaired": str(units.left_out), **parts, "unit": judged[0].unit}
    signature |= {"boot": f"{options.interval}.{options.resamples}", "seed": str(options.seed), "dstress": __version__}
    scores = {metric.name: _score(metric, units, signature, options) for metric in found}
    return Scorecard(signature, scores, notes=notes)


def _score(metric: OverRuns, units: PairedUnits, signature: dict[str, str], options: Options) -> Score:
    _, dialogue = np.unique([name.rsplit("/", 2)[0] for name in units.names], return_inverse=True)
    statistics = metric.statistics(units.table)
    totals: Floats = np.column_stack([np.bincount(dialogue, column) for column in statistics.T]).astype(np.float64)
    resampled = resampled_sums(totals, options.resamples, options.seed)
    if options.interval == "bca":
        low, high = bca_interval(totals, resampled, metric.value, options.level)
    else:
        low, high = percentile_interval(resampled, metric.value, options.level)
    sums = totals.sum(axis=0)
    return Score(float(metric.value(sums)), low, high, metric.count(sums), signature_text(metric.name, signature))
