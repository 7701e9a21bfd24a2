"""The metrics room: each metric is per-unit statistics and the value of their sums."""

from __future__ import annotations

from dstress.registry import Registry
from dstress.scoring.metrics.base import Metric
from dstress.scoring.metrics.consistency import OverPairs, OverRuns

metrics = Registry(
    "metric",
    Metric,
    {
        "jga": "dstress.scoring.metrics.joint:Jga",
        "slot-f1": "dstress.scoring.metrics.slots:SlotF1",
        "sa": "dstress.scoring.metrics.slots:Sa",
        "aga": "dstress.scoring.metrics.slots:Aga",
        "iaga": "dstress.scoring.metrics.slots:Iaga",
        "rsa": "dstress.scoring.metrics.slots:Rsa",
        "fga": "dstress.scoring.metrics.flexible:Fga",
        "gca": "dstress.scoring.metrics.granular:Gca",
        "value-precision": "dstress.scoring.metrics.granular:ValuePrecision",
        "value-recall": "dstress.scoring.metrics.granular:ValueRecall",
        "label-precision": "dstress.scoring.metrics.granular:LabelPrecision",
        "label-recall": "dstress.scoring.metrics.granular:LabelRecall",
        "slot-precision": "dstress.scoring.metrics.slots:SlotPrecision",
        "slot-recall": "dstress.scoring.metrics.slots:SlotRecall",
        "cat-jga": "dstress.scoring.metrics.joint:CatJga",
        "noncat-jga": "dstress.scoring.metrics.joint:NoncatJga",
        "cat-aga": "dstress.scoring.metrics.slots:CatAga",
        "noncat-aga": "dstress.scoring.metrics.slots:NoncatAga",
        "active-intent-accuracy": "dstress.scoring.metrics.frames:ActiveIntentAccuracy",
        "requested-slots-f1": "dstress.scoring.metrics.frames:RequestedSlotsF1",
        "requested-slots-precision": "dstress.scoring.metrics.frames:RequestedSlotsPrecision",
        "requested-slots-recall": "dstress.scoring.metrics.frames:RequestedSlotsRecall",
        "slot-tagging-f1": "dstress.scoring.metrics.frames:SlotTaggingF1",
        "slot-tagging-precision": "dstress.scoring.metrics.frames:SlotTaggingPrecision",
        "slot-tagging-recall": "dstress.scoring.metrics.frames:SlotTaggingRecall",
        "ood-f1": "dstress.scoring.metrics.utterances:OodF1",
        "false-updates": "dstress.scoring.metrics.utterances:FalseUpdates",
        "intent-accuracy": "dstress.scoring.metrics.utterances:IntentAccuracy",
        "coref-jga": "dstress.scoring.metrics.reference:CorefJga",
        "changed-jga": "dstress.scoring.metrics.counterfactual:ChangedJga",
        "unconfirmed-labels": "dstress.scoring.metrics.counterfactual:UnconfirmedLabels",
        "jga-floor": "dstress.scoring.metrics.counterfactual:JgaFloor",
        "words-changed": "dstress.scoring.metrics.counterfactual:WordsChanged",
        "nohf": "dstress.scoring.metrics.reference:Nohf",
        "inform": "dstress.scoring.metrics.task_success:Inform",
        "success": "dstress.scoring.metrics.task_success:Success",
        "bleu": "dstress.scoring.metrics.bleu:Bleu",
        "combined": "dstress.scoring.metrics.bleu:Combined",
        "richness": "dstress.scoring.metrics.richness:Richness",
        "call-accuracy": "dstress.scoring.metrics.calls:CallAccuracy",
        "tool-accuracy": "dstress.scoring.metrics.calls:ToolAccuracy",
        "argument-f1": "dstress.scoring.metrics.calls:ArgumentF1",
        "abstention": "dstress.scoring.metrics.calls:Abstention",
        "invented-arguments": "dstress.scoring.metrics.calls:InventedArguments",
    },
)

pair_metrics = Registry(
    "pair_metric",
    OverPairs,
    {
        "cjga": "dstress.scoring.metrics.consistency:Cjga",
        "consistent-jga": "dstress.scoring.metrics.consistency:ConsistentJga",
        "newly-wrong": "dstress.scoring.metrics.consistency:NewlyWrong",
        "newly-right": "dstress.scoring.metrics.consistency:NewlyRight",
        "always-wrong": "dstress.scoring.metrics.consistency:AlwaysWrong",
    },
)
"""Metrics of one tracker on the original and on its stressed copy, unit by unit."""

variant_metrics = Registry(
    "variant_metric",
    OverRuns,
    {
        "ss": "dstress.scoring.metrics.sensitivity:Sensitivity",
        "diff-rel": "dstress.scoring.metrics.sensitivity:DiffRel",
    },
)
"""Metrics of one tracker over several variants of the data; `diff-rel` has the original in its first column."""

__all__ = ["Metric", "OverPairs", "OverRuns", "metrics", "pair_metrics", "variant_metrics"]
