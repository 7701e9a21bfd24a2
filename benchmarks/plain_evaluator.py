"""A plain one-pass evaluator, as many a repository has one: json, a fuzzy ratio, four metrics, no intervals.

It is what `benchmarks.scoring` is timed beside. Run as a script: plain_evaluator.py REFERENCE PREDICTIONS
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz, utils


def load(folder: Path) -> dict[str, Any]:
    found = {}
    for path in sorted(folder.glob("dialogues_*.json")):
        for dialogue in json.loads(path.read_text()):
            found[dialogue["dialogue_id"]] = dialogue
    return found


def similar(gold: str, predicted: str) -> float:
    return round(fuzz.token_sort_ratio(gold, predicted, processor=utils.default_process)) / 100


def frame_scores(gold: dict[str, Any], predicted: dict[str, Any], slots: dict[str, bool]) -> tuple[float, list[float]]:
    wanted, given = gold["slot_values"], predicted["slot_values"]
    joint, active = 1.0, []
    for slot, categorical in slots.items():
        if slot in wanted:
            value = given.get(slot, [""])[0]
            if categorical:
                score = float(wanted[slot][0].lower() == value.lower())
            else:
                score = max(similar(reference, value) for reference in wanted[slot])
            active.append(score)
            joint *= score
        elif slot in given:
            joint = 0.0
    return joint, active


def f1(gold: list[str], predicted: list[str]) -> float:
    wanted, given = Counter(gold), Counter(predicted)
    shared = sum((wanted & given).values())
    precision = shared / sum(given.values()) if given else 1.0
    recall = shared / sum(wanted.values()) if wanted else 1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def evaluate(reference: dict[str, Any], predictions: dict[str, Any], schema: list[Any]) -> dict[str, float]:
    slots = {s["service_name"]: {slot["name"]: slot["is_categorical"] for slot in s["slots"]} for s in schema}
    sums: Counter[str] = Counter()
    for name, dialogue in reference.items():
        for gold_turn, turn in zip(dialogue["turns"], predictions[name]["turns"], strict=True):
            frames = {frame["service"]: frame for frame in turn["frames"]}
            for frame in gold_turn["frames"]:
                if "state" not in frame:
                    continue
                gold, predicted = frame["state"], frames[frame["service"]]["state"]
                joint, active = frame_scores(gold, predicted, slots[frame["service"]])
                sums["frames"] += 1
                sums["jga"] += joint  # type: ignore[assignment]
                sums["intent"] += gold["active_intent"] == predicted["active_intent"]
                sums["requested"] += f1(gold["requested_slots"], predicted["requested_slots"])  # type: ignore[assignment]
                if active:
                    sums["active"] += 1
                    sums["aga"] += sum(active) / len(active)  # type: ignore[assignment]
    frames_counted = sums["frames"]
    return {key: sums[key] / frames_counted for key in ("jga", "intent", "requested")} | {
        "aga": sums["aga"] / sums["active"]
    }


if __name__ == "__main__":
    here = Path(sys.argv[1])
    print(json.dumps(evaluate(load(here), load(Path(sys.argv[2])), json.loads((here / "schema.json").read_text()))))
