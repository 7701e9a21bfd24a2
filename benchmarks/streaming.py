"""A million turns from JSON lines: time grows with the turns, memory does not."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from itertools import count, islice
from pathlib import Path

import msgspec

from dstress import corpora
from dstress.dialogue import Dialogue
from dstress.predictions.base import Prediction

SIZES = (500_000, 1_000_000)
_LIMIT_MB = 600
_SCORE = (
    "import json, resource, sys, time; from dstress.scoring.score import score; start = time.perf_counter();"
    "card = score(sys.argv[1] + '/predictions.jsonl', sys.argv[1] + '/gold');"
    "print(json.dumps([card['jga'].value, card['jga'].n, len(card.metrics), time.perf_counter() - start,"
    " resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10]))"
)


def run() -> None:
    corpora.ensure_embedded()
    dialogues = list(corpora.load("reminder:train"))
    measured = [_measure(dialogues, turns) for turns in SIZES]
    (small_time, small_memory), (large_time, large_memory) = measured
    print(
        f"  twice the turns: {large_time / small_time:.2f} x the time, {large_memory / small_memory:.2f} x the memory"
    )


def _measure(dialogues: list[Dialogue], turns: int) -> tuple[float, int]:
    with tempfile.TemporaryDirectory() as scratch:
        written = _write(dialogues, turns, Path(scratch))
        answer = subprocess.run([sys.executable, "-c", _SCORE, scratch], capture_output=True, check=True)
    jga, scored, metrics, seconds, memory = json.loads(answer.stdout)
    verdict = "ok" if memory < _LIMIT_MB else "TOO MUCH"
    print(
        f"{scored:,.0f} turns streamed, {metrics} metrics with intervals (jga {jga:.4f}): {seconds:.1f} s, "
        f"{1e6 * seconds / written:.0f} microseconds a turn, {memory} MB (under {_LIMIT_MB}: {verdict})"
    )
    return seconds, memory


def _write(dialogues: list[Dialogue], turns: int, folder: Path) -> int:
    """The embedded corpus over and over, under new names; the tracker forgets a slot now and then."""
    (folder / "gold").mkdir()
    schema = msgspec.json.encode(corpora.load("reminder:train").schema)
    (folder / "gold" / "schema.json").write_bytes(schema)
    encoder, written = msgspec.json.Encoder(), 0
    with (folder / "gold" / "test.jsonl").open("wb") as gold, (folder / "predictions.jsonl").open("wb") as predicted:
        for number in count():
            for dialogue in islice(dialogues, 600):
                if written >= turns:
                    return written
                named = msgspec.structs.replace(dialogue, id=f"{dialogue.id}-{number}")
                gold.write(encoder.encode(named) + b"\n")
                for index, turn in enumerate(dialogue.turns):
                    kept = {slot: forms[0] for slot, forms in turn.state.items() if (len(slot) + index + number) % 11}
                    predicted.write(encoder.encode(Prediction(named.id, index, kept)) + b"\n")
                written += len(dialogue.turns)
    return written
