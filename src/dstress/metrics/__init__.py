"""The metrics room: each metric is per-unit statistics and the value of their sums."""

from __future__ import annotations

from dstress.metrics.base import Metric
from dstress.metrics.consistency import OverPairs, OverRuns
from dstress.registry import Registry

metrics = Registry(
    "metric",
    Metric,
    {
        "jga": "dstress.metrics.joint:Jga",
        "sa": "dstress.metrics.slots:Sa",
        "aga": "dstress.metrics.slots:Aga",
        "iaga": "dstress.metrics.slots:Iaga",
        "rsa": "dstress.metrics.slots:Rsa",
        "fga": "dstress.metrics.flexible:Fga",
        "gca": "dstress.metrics.granular:Gca",
        "value-precision": "dstress.metrics.granular:ValuePrecision",
        "value-recall": "dstress.metrics.granular:ValueRecall",
        "label-precision": "dstress.metrics.granular:LabelPrecision",
        "label-recall": "dstress.metrics.granular:LabelRecall",
        "slot-precision": "dstress.metrics.slots:SlotPrecision",
        "slot-recall": "dstress.metrics.slots:SlotRecall",
        "slot-f1": "dstress.metrics.slots:SlotF1",
        "cat-jga": "dstress.metrics.joint:CatJga",
        "noncat-jga": "dstress.metrics.joint:NoncatJga",
        "cat-aga": "dstress.metrics.slots:CatAga",
        "noncat-aga": "dstress.metrics.slots:NoncatAga",
        "active-intent-accuracy": "dstress.metrics.frames:ActiveIntentAccuracy",
        "requested-slots-f1": "dstress.metrics.frames:RequestedSlotsF1",
        "requested-slots-precision": "dstress.metrics.frames:RequestedSlotsPrecision",
        "requested-slots-recall": "dstress.metrics.frames:RequestedSlotsRecall",
        "slot-tagging-f1": "dstress.metrics.frames:SlotTaggingF1",
        "slot-tagging-precision": "dstress.metrics.frames:SlotTaggingPrecision",
        "slot-tagging-recall": "dstress.metrics.frames:SlotTaggingRecall",
        "ood-f1": "dstress.metrics.utterances:OodF1",
        "intent-accuracy": "dstress.metrics.utterances:IntentAccuracy",
        "coref-jga": "dstress.metrics.reference:CorefJga",
        "changed-jga": "dstress.metrics.counterfactual:ChangedJga",
        "unconfirmed-labels": "dstress.metrics.counterfactual:UnconfirmedLabels",
        "jga-floor": "dstress.metrics.counterfactual:JgaFloor",
        "words-changed": "dstress.metrics.counterfactual:WordsChanged",
        "nohf": "dstress.metrics.reference:Nohf",
        "inform": "dstress.metrics.task_success:Inform",
        "success": "dstress.metrics.task_success:Success",
        "bleu": "dstress.metrics.bleu:Bleu",
        "combined": "dstress.metrics.bleu:Combined",
        "richness": "dstress.metrics.richness:Richness",
    },
)

pair_metrics = Registry(
    "pair_metric",
    OverPairs,
    {
        "cjga": "dstress.metrics.consistency:Cjga",
        "consistent-jga": "dstress.metrics.consistency:ConsistentJga",
        "newly-wrong": "dstress.metrics.consistency:NewlyWrong",
        "newly-right": "dstress.metrics.consistency:NewlyRight",
        "always-wrong": "dstress.metrics.consistency:AlwaysWrong",
    },
)
"""Metrics of one tracker on the original and on its stressed copy, unit by unit."""

variant_metrics = Registry(
    "variant_metric",
    OverRuns,
    {"ss": "dstress.metrics.sensitivity:Sensitivity", "diff-rel": "dstress.metrics.sensitivity:DiffRel"},
)
"""Metrics of one tracker over several variants of the data; `diff-rel` has the original in its first column."""

__all__ = ["Metric", "OverPairs", "OverRuns", "metrics", "pair_metrics", "variant_metrics"]
