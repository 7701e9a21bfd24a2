"""Score a prediction file: read, pair with gold, lay out in columns, judge, tally, and say how sure it is.

Everything streams: gold and predictions are paired as they are read, laid out shard by shard, and only sums are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
import numpy as np

from dstress import corpora
from dstress._version import __version__
from dstress.conventions import conventions
from dstress.conventions.base import Convention
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue
from dstress.errors import DstressError, PredictionError, UnknownNameError
from dstress.predictions.base import Prediction
from dstress.scoring.alignment.pairing import Coverage, Pairing
from dstress.scoring.garbage import without_collection
from dstress.scoring.left_out import LeftOut, predictions_within
from dstress.scoring.metrics import metrics
from dstress.scoring.metrics.base import Floats, Metric
from dstress.scoring.metrics.measures import require_metric
from dstress.scoring.open_pair import Gold, Predictions, PredictionSource, open_pair
from dstress.scoring.resampling import Bounds, Kind, interval, is_thin
from dstress.scoring.responses import DomainSource, Responses
from dstress.scoring.scorecard import UNITS, Score, Scorecard, SlotErrors, signature_text
from dstress.scoring.shards import Plan, Watcher, tally_pairs
from dstress.scoring.slices import check_slice, possible_slices
from dstress.scoring.tally import Tally

STANDARD = "standard"
"""Every metric over states, frames and flags; those that read the words of the dialogue come with `all`."""
SLOT_SCORES = ("slot-precision", "slot-recall", "slot-f1")
"""What there is of a single slot."""
_CONFUSIONS = 5


class ScoringOptions(msgspec.Struct, frozen=True):
    """How to score, beside what: the defaults are what a paper should report. `score` takes each by name, too."""

    allow_partial: bool = False
    format: str = ""
    resamples: int = 1000
    seed: int = 1
    level: float = 0.95
    interval: Kind = "logit"
    leave_out: tuple[str, ...] = ()
    """Dialogues that do not count, gold and predictions alike; their ids go into the signature."""
    lenient: bool = False
    """Leave out a metric for which the data has nothing, even if it was asked for by name."""
    limit: int = 0
    """Score only the first dialogues of gold."""
    draw: int = 0
    """Score only so many dialogues of gold, drawn at random by the seed."""
    domains: DomainSource = ""
    """Where the active domains of responses come from."""
    delexicalise: bool = False
    """Responses say values: put placeholders in their stead."""

    def __post_init__(self) -> None:
        if self.seed < 0 or self.resamples < 0 or not 0 < self.level < 1:
            problem = f"seed {self.seed}, {self.resamples} resamples, level {self.level}: that cannot be"
            raise DstressError(problem, fix="seed and resamples are 0 or more, the level lies between 0 and 1")


DEFAULTS = ScoringOptions()
COMPARING = ScoringOptions(resamples=10_000)
"""A comparison takes more resamples than a single score does, for the intervals that need any."""


class Scored(msgspec.Struct):
    """A tally with all that its scorecard needs to say."""

    convention: str
    tally: Tally
    signature: dict[str, str]
    notes: list[str]
    options: ScoringOptions
    missing: dict[str, str]
    """Metrics that cannot be computed here, and why."""
    richness: dict[str, float] | msgspec.UnsetType = msgspec.UNSET
    """See `Scorecard`."""

    def card(self) -> Scorecard:
        """Values, intervals, slices and error tables."""
        tally = self.tally
        resampled = cache(tally.resampled)  # one set for all metrics that need any
        scores = {name: self._score(name, metric, resampled) for name, metric in tally.metrics.items()}
        slices = {name: _values(sums, tally.metrics) for name, sums in tally.slices.items()}
        if "slot" in tally.slice_names:
            slices["slot"] = {slot: _slot_scores(row) for slot, row in tally.slots.items()}
        thin = (
            []
            if tally.streamed
            else [
                name
                for name, metric in tally.metrics.items()
                if metric.highest is not None and is_thin(tally.totals(name), metric.value, metric.highest)
            ]
        )
        notes = [*self.notes, say_thin(thin)] if thin else self.notes
        return Scorecard(self.signature, scores, slices, _slot_errors(tally), notes, self.richness)

    def _score(self, name: str, metric: Metric, resampled: Callable[[], dict[str, Floats]]) -> Score:
        sums, options, signature = self.tally.sums(name), self.options, self.signature
        if metric.highest is None and options.interval == "logit" and not self.tally.streamed:
            signature = signature | signature_of_interval("bca", options)  # see `interval`
        totals = None if self.tally.streamed else self.tally.totals(name)
        low, high = interval(
            totals,
            lambda: resampled()[name],
            metric.value,
            options.level,
            options.interval,
            None if metric.highest is None else Bounds(self.tally.counted_dialogues(name), metric.highest),
        )
        return Score(float(metric.value(sums)), low, high, metric.count(sums), signature_text(name, signature))


def score(
    predictions: Predictions,
    gold: Gold | None = None,
    convention: str = "",
    metrics: str | Sequence[str] = STANDARD,
    by: Sequence[str] = (),
    options: ScoringOptions = DEFAULTS,
    **changes: Any,
) -> Scorecard:
    """Score a prediction file (or predictions) against gold, under one convention.

    Both may be plain dicts, `{dialogue: [{slot: value}, ...]}`. Without `gold` the file must carry its own. Without
    `convention`, the one of the script that reads such files. Every option may be given by its name: `limit=20` ...
    """
    options = msgspec.structs.replace(options, **changes)
    (scored,) = tally_predictions(PredictionSource(predictions, gold), [convention], metrics, by, options)
    return scored.card()


def tally_predictions(
    source: PredictionSource,
    convention_names: Sequence[str],
    metrics: str | Sequence[str] = STANDARD,
    by: Sequence[str] = (),
    options: ScoringOptions = DEFAULTS,
    watchers: Sequence[Watcher] = (),
) -> list[Scored]:
    """Score under several conventions at once: the data is read and laid out once for all of them.

    Watchers are shown every alignment, so that whoever wants more of it than sums need not judge anything again.
    """
    for name in by:
        check_slice(name)
    with without_collection(), open_pair(source, options.format) as pair:
        corpus = pair.corpus.take(options.limit, options.draw, options.seed)
        texts = [text or pair.convention for text in convention_names]
        chosen = [conventions.create(text) for text in texts]
        # Results on a stressed corpus are always told apart by what the stressor did, such as seen and unseen values.
        slice_names = (*by, "stress") if corpus.stressed and "stress" not in by else by
        slices = possible_slices(slice_names, corpus, lenient=options.lenient)
        selected = _selected(metrics)
        spoken = any(metric.reads_responses for metric in selected.values())
        responses = Responses(corpus, options.domains, options.delexicalise) if spoken else None
        plan = Plan(corpus, chosen, selected, slices, options.resamples, options.seed, tuple(watchers))
        left_out = LeftOut(options.leave_out)
        gold: Iterable[Dialogue] = corpus
        predictions: Iterable[Prediction] = predictions_within(corpus, pair.predictions)
        if options.leave_out:
            gold = (dialogue for dialogue in corpus if left_out.counts(dialogue.id))
            predictions = (answer for answer in predictions if left_out.counts(answer.dialogue))
        if responses:
            predictions = responses.watch(predictions)
        pairing = Pairing(gold, predictions, corpus.schema)
        tallies, notes = tally_pairs(pairing, plan)
        left_out.require_met()
    gold_name, hint = f"{corpus.name}:{corpus.split}".rstrip(":"), _other_split(pairing, corpus)
    if hint and not pairing.coverage.turns:
        raise PredictionError(f"no prediction fits {gold_name}: {pairing.coverage.misfits.describe()}", fix=hint)
    pairing.require_predictions(gold_name, any(not metric.reads_responses for metric in selected.values()))
    if not options.allow_partial:
        pairing.require_complete(hint)
    scored = []
    for text, convention, tally in zip(texts, chosen, tallies, strict=True):
        missing = _without_missing(tally, metrics, pairing.coverage, options.lenient)
        signature = _signature(corpus, text, convention, tally, pairing.coverage, options)
        signature |= responses.signature if responses else {}
        # `standard` means those that there are; a run, which is lenient, names them once for all its variants.
        named = list_missing(missing) if metrics == "all" else []
        all_notes = notes + pairing.notes(convention) + (responses.notes if responses else []) + named
        richness = responses.richness if responses and "richness" in tally.metrics else msgspec.UNSET
        scored.append(Scored(text, tally, signature, all_notes, options, missing, richness))
    return scored


def list_missing(missing: Mapping[str, str]) -> list[str]:
    """Metrics that cannot be computed, for people to read: a line for each reason."""
    names: dict[str, list[str]] = {}
    for metric, reason in missing.items():
        names.setdefault(reason, []).append(metric)
    return [f"{', '.join(metrics)} cannot be computed: {reason}" for reason, metrics in names.items()]


def _selected(selection: str | Sequence[str]) -> dict[str, Metric]:
    """The metrics asked for; `all` and `standard` are open: what cannot be computed is left out in the end."""
    names = [selection] if isinstance(selection, str) else list(selection)
    if _is_open(selection):
        names = list(metrics.usable())
    for name in names:
        require_metric(name, of_one_file=True)
    made = {name: metrics.create(name) for name in names}
    return {name: metric for name, metric in made.items() if selection != STANDARD or not metric.on_request}


def _is_open(names: str | Sequence[str]) -> bool:
    return names in (STANDARD, "all")


def _without_missing(tally: Tally, selection: str | Sequence[str], coverage: Coverage, lenient: bool) -> dict[str, str]:
    """Take out of a tally what cannot be computed; returns the reasons, and raises where a metric was insisted on."""
    stateless = [name for name, metric in tally.metrics.items() if metric.needs_states and not coverage.stateful_turns]
    reasons = dict.fromkeys(stateless, "the gold has no state in any turn") | tally.missing
    for name, reason in reasons.items():
        if not (_is_open(selection) or lenient) or len(reasons) == len(tally.metrics):
            raise PredictionError(f"{name} cannot be computed: {reason}", fix="leave it out, or add what it needs")
    tally.metrics = {name: metric for name, metric in tally.metrics.items() if name not in reasons}
    return reasons


def _other_split(pairing: Pairing, corpus: Corpus) -> str:
    """Which split of the corpus the predictions are of, if it is not this one."""
    strangers = pairing.strangers
    if not strangers:
        return ""
    from dstress.corpora import store
    from dstress.scoring.alignment.pairing import key

    try:
        names = [name for name in store.require_manifest(corpus.name).splits if name != corpus.split]
    except (UnknownNameError, DstressError):
        return ""
    for name in names:
        ids = {key(dialogue.id) for dialogue in corpora.load(f"{corpus.name}:{name}")}
        if sum(stranger in ids for stranger in strangers) > len(strangers) / 2:
            return f"the predictions are those of {corpus.name}:{name}; score them against that split"
    return ""


def _signature(
    corpus: Corpus, text: str, convention: Convention, tally: Tally, coverage: Coverage, options: ScoringOptions
) -> dict[str, str]:
    parts = {"corpus": corpus.signature, "turns": str(tally.turns)}
    if convention.unit == "frame":
        parts["frames"] = str(tally.units)
    parts |= {"conv": text, "unit": convention.unit}
    if fuzz := getattr(convention, "fuzz", ""):
        parts["fuzz"] = str(fuzz)
    if options.leave_out:
        parts["without"] = ",".join(sorted(options.leave_out))
    if not coverage.complete:
        parts["coverage"] = f"{coverage.turns}/{coverage.gold_turns}"
    kind = "poisson" if tally.streamed else options.interval
    plugins = [corpus.made.get("plugins", ""), conventions.origin(text), *map(metrics.origin, tally.metrics)]
    if named := "+".join(dict.fromkeys(filter(None, plugins))):
        parts["plugins"] = named
    parts |= signature_of_interval(kind, options)
    return parts | corpus.identity | {"dstress": __version__}


def say_thin(metrics: Sequence[str]) -> str:
    """That intervals of these metrics are based on too little to be trusted."""
    return f"too few dialogues make a difference to trust the interval of {', '.join(metrics)}"


def signature_of_interval(kind: str, options: ScoringOptions) -> dict[str, str]:
    """The interval, and the resamples of a kind that has any; the seed also draws dialogues."""
    return {"ci": kind if kind == "logit" else f"{kind}.{options.resamples}", "seed": str(options.seed)}


def _values(sums: dict[str, dict[str, Floats]], made: dict[str, Metric]) -> dict[str, dict[str, float | None]]:
    values_of: dict[str, dict[str, float | None]] = {}
    for key, by_metric in sums.items():
        values = {name: float(made[name].value(row)) for name, row in by_metric.items() if name in made}
        defined = {name: None if np.isnan(value) else value for name, value in values.items()}
        values_of[key] = {UNITS: float(by_metric[UNITS][0]), **defined}
    return values_of


def _slot_scores(row: Floats) -> dict[str, float | None]:
    right, wrong, missed, extra = row.tolist()
    predicted, gold = right + wrong + extra, right + wrong + missed
    shares = (right / predicted if predicted else None, right / gold if gold else None, 2 * right / (predicted + gold))
    return dict(zip(SLOT_SCORES, shares, strict=True)) | {
        UNITS: float(row.sum()),
        "right": right,
        "wrong": wrong,
        "missed": missed,
        "extra": extra,
    }


def _slot_errors(tally: Tally) -> dict[str, SlotErrors]:
    by_slot: dict[str, list[tuple[str, str, int]]] = {}
    for (slot, gold, predicted), times in sorted(tally.confusions.items(), key=lambda item: (-item[1], item[0])):
        kept = by_slot.setdefault(slot, [])
        if len(kept) < _CONFUSIONS:
            kept.append((gold, predicted, times))
    errors = {}
    for slot, row in tally.slots.items():
        right, wrong, missed, extra = (int(count) for count in row)
        errors[slot] = SlotErrors(right, wrong, missed, extra, by_slot.get(slot, []))
    return errors
