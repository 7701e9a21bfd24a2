"""Score a prediction file: read, pair with gold, lay out in columns, judge, tally, and say how sure it is.

Everything streams: gold and predictions are paired as they are read, laid out shard by shard, and only sums are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict, Unpack

import msgspec
import numpy as np

from dstress import corpora
from dstress._version import __version__
from dstress.alignment.pairing import Coverage, Pairing
from dstress.conventions import conventions
from dstress.conventions.base import Convention
from dstress.corpora.base import Corpus
from dstress.errors import DstressError, PredictionError, UnknownNameError
from dstress.metrics import metrics
from dstress.metrics.base import Floats, Metric
from dstress.metrics.measures import require_metric
from dstress.scoring.garbage import without_collection
from dstress.scoring.left_out import LeftOut, predictions_within
from dstress.scoring.open_pair import Gold, Predictions, PredictionSource, open_pair
from dstress.scoring.resampling import Bounds, interval
from dstress.scoring.responses import DomainSource, Responses
from dstress.scoring.scorecard import UNITS, Score, Scorecard, SlotErrors, signature_text
from dstress.scoring.shards import Plan, Watcher, in_halves, tally_pairs
from dstress.scoring.slices import check_slice, possible_slices
from dstress.scoring.tally import Tally

STANDARD = "standard"
"""Every metric over states, frames and flags; those that read the words of the dialogue come with `all`."""
SLOT_SCORES = ("slot-precision", "slot-recall", "slot-f1")
"""What there is of a single slot."""
_CONFUSIONS = 5


class ScoringOptions(msgspec.Struct, frozen=True):
    """How to score, beside what: the defaults are what a paper should report."""

    allow_partial: bool = False
    format: str = ""
    resamples: int = 1000
    seed: int = 1
    level: float = 0.95
    interval: Literal["percentile", "bca"] = "percentile"
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


class ScoringChanges(TypedDict, total=False):
    """Those of the options that `score` also takes by name."""

    allow_partial: bool
    format: str
    resamples: int
    seed: int
    interval: Literal["percentile", "bca"]
    leave_out: tuple[str, ...]
    limit: int
    draw: int
    domains: DomainSource
    delexicalise: bool


DEFAULTS = ScoringOptions()
COMPARING = ScoringOptions(resamples=10_000)
"""More resamples than a single score needs: a p-value is never smaller than one over their number."""


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
        resampled = tally.resampled()
        scores = {name: self._score(name, metric, resampled[name]) for name, metric in tally.metrics.items()}
        slices = {name: _values(sums, tally.metrics) for name, sums in tally.slices.items()}
        if "slot" in tally.slice_names:
            slices["slot"] = {slot: _slot_scores(row) for slot, row in tally.slots.items()}
        return Scorecard(self.signature, scores, slices, _slot_errors(tally), self.notes, self.richness)

    def _score(self, name: str, metric: Metric, resampled: Floats) -> Score:
        sums, options = self.tally.sums(name), self.options
        totals = None if self.tally.streamed else self.tally.totals(name)
        low, high = interval(
            totals,
            resampled,
            metric.value,
            options.level,
            options.interval,
            None if metric.highest is None else Bounds(self.tally.counted_dialogues(name), metric.highest),
        )
        return Score(float(metric.value(sums)), low, high, metric.count(sums), signature_text(name, self.signature))


def score(
    predictions: Predictions,
    gold: Gold | None = None,
    convention: str = "",
    metrics: str | Sequence[str] = STANDARD,
    by: Sequence[str] = (),
    options: ScoringOptions = DEFAULTS,
    **changes: Unpack[ScoringChanges],
) -> Scorecard:
    """Score a prediction file (or predictions) against gold, under one convention.

    Both may be plain dicts, `{dialogue: [{slot: value}, ...]}`. Without `gold` the file must carry its own. Without
    `convention`, the one of the script that reads such files. Options may be given by name: `limit=20` ...
    """
    options = msgspec.structs.replace(options, **changes)
    (scored,) = tally_predictions(PredictionSource(predictions, gold), [convention], metrics, by, options)
    return scored.card()


def tally_predictions(
    source: PredictionSource,
    wanted: Sequence[str],
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
        texts = [text or pair.convention for text in wanted]
        chosen = [conventions.create(text) for text in texts]
        # Results on a stressed corpus are always told apart by what the stressor did, such as seen and unseen values.
        told = (*by, "stress") if corpus.stressed and "stress" not in by else by
        slices = possible_slices(told, corpus, lenient=options.lenient)
        selected = _selected(metrics)
        spoken = any(metric.reads_responses for metric in selected.values())
        responses = Responses(corpus, options.domains, options.delexicalise) if spoken else None
        plan = Plan(corpus, chosen, selected, slices, options.resamples, options.seed, tuple(watchers))
        left_out = LeftOut(options.leave_out)
        predictions = left_out.predictions(predictions_within(corpus, pair.predictions))
        if responses:
            predictions = responses.watch(predictions)
        pairing = Pairing(left_out.gold(corpus), predictions, corpus.schema)
        halves = None if options.leave_out or corpus.whole or responses else in_halves(pair, pairing, plan)
        tallies, notes = halves or tally_pairs(pairing, plan)
        left_out.require_met()
    _check(pairing, corpus, options, any(not metric.reads_responses for metric in selected.values()))
    scored = []
    for text, convention, tally in zip(texts, chosen, tallies, strict=True):
        missing = _without_missing(tally, metrics, pairing.coverage, options.lenient)
        signature = _signature(corpus, text, convention, tally, pairing.coverage, options)
        signature |= responses.signature if responses else {}
        # `standard` means those that there are; a run, which is lenient, names them once for all its variants.
        named = list_missing(missing) if metrics == "all" else []
        told = notes + pairing.notes(convention) + (responses.notes if responses else []) + named
        richness = responses.richness if responses and "richness" in tally.metrics else msgspec.UNSET
        scored.append(Scored(text, tally, signature, told, options, missing, richness))
    return scored


def list_missing(missing: Mapping[str, str]) -> list[str]:
    """Metrics that cannot be computed, for people to read: a line for each reason."""
    names: dict[str, list[str]] = {}
    for metric, reason in missing.items():
        names.setdefault(reason, []).append(metric)
    return [f"{', '.join(metrics)} cannot be computed: {reason}" for reason, metrics in names.items()]


def _selected(wanted: str | Sequence[str]) -> dict[str, Metric]:
    """The metrics asked for; `all` and `standard` are open: what cannot be computed is left out in the end."""
    names = list(metrics.usable()) if _is_open(wanted) else [wanted] if isinstance(wanted, str) else list(wanted)
    for name in names:
        require_metric(name, of_one_file=True)
    made = {name: metrics.create(name) for name in names}
    return {name: metric for name, metric in made.items() if wanted != STANDARD or not metric.on_request}


def _is_open(wanted: str | Sequence[str]) -> bool:
    return wanted in (STANDARD, "all")


def _without_missing(tally: Tally, wanted: str | Sequence[str], coverage: Coverage, lenient: bool) -> dict[str, str]:
    """Take out of a tally what cannot be computed; returns the reasons, and raises where a metric was insisted on."""
    stateless = [name for name, metric in tally.metrics.items() if metric.needs_states and not coverage.stateful_turns]
    reasons = dict.fromkeys(stateless, "the gold has no state in any turn") | tally.missing
    for name, reason in reasons.items():
        if not (_is_open(wanted) or lenient) or len(reasons) == len(tally.metrics):
            raise PredictionError(f"{name} cannot be computed: {reason}", fix="leave it out, or add what it needs")
    tally.metrics = {name: metric for name, metric in tally.metrics.items() if name not in reasons}
    return reasons


def _check(pairing: Pairing, corpus: Corpus, options: ScoringOptions, states_wanted: bool) -> None:
    gold, hint = f"{corpus.name}:{corpus.split}".rstrip(":"), _other_split(pairing, corpus)
    if hint and not pairing.coverage.turns:
        raise PredictionError(f"no prediction fits {gold}: {pairing.coverage.misfits.describe()}", fix=hint)
    pairing.require_predictions(gold, states_wanted)
    if not options.allow_partial:
        pairing.require_complete(hint)


def _other_split(pairing: Pairing, corpus: Corpus) -> str:
    """Which split of the corpus the predictions are of, if it is not this one."""
    strangers = pairing.strangers
    if not strangers:
        return ""
    from dstress.alignment.pairing import key
    from dstress.corpora import store

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
        parts["coverage"] = f"{coverage.turns / max(1, coverage.gold_turns):.4f}"
    kind = "poisson" if tally.streamed else options.interval
    plugins = [corpus.made.get("plugins", ""), conventions.origin(text), *map(metrics.origin, tally.metrics)]
    if named := "+".join(dict.fromkeys(filter(None, plugins))):
        parts["plugins"] = named
    parts |= {"boot": f"{kind}.{options.resamples}", "seed": str(options.seed)}
    return parts | corpus.identity | {"dstress": __version__}


def _values(sums: dict[str, dict[str, Floats]], made: dict[str, Metric]) -> dict[str, dict[str, float | None]]:
    found: dict[str, dict[str, float | None]] = {}
    for key, by_metric in sums.items():
        values = {name: float(made[name].value(row)) for name, row in by_metric.items() if name in made}
        defined = {name: None if np.isnan(value) else value for name, value in values.items()}
        found[key] = {UNITS: float(by_metric[UNITS][0]), **defined}
    return found


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
