"""Stressors: turns a second on one core, time that grows with the turns, memory that does not."""

from __future__ import annotations

import json
import subprocess
import sys
import time

from benchmarks.timing import shared
from dstress import corpora
from dstress.corpora.base import Corpus
from dstress.pipeline.stress import stress

TEXT = (
    *("typos", "disfluency", "verbosity", "simplification", "word_noise", "entities", "unseen_entities", "values"),
    *("out_of_domain", "indirect", "turnback", "time_format", "phonetic_names", "speech_text"),
)
_PER_SECOND = 10_000
_TIMES = 3
_STREAMED = (50_000, 200_000)
_STREAM = """
import json, os, resource, sys, time
from itertools import count
import msgspec
from dstress import corpora
from dstress.corpora.base import Corpus
from dstress.pipeline.stress import stress
from dstress.stressors.quality import Quality
corpus, wanted = corpora.load("reminder:train"), int(sys.argv[2])
def read():
    done = 0
    for number in count():
        for dialogue in corpus:
            if done >= wanted:
                return
            done += len(dialogue.turns)
            yield msgspec.structs.replace(dialogue, id=f"{dialogue.id}-{number}")
stressed = stress(Corpus("stream", "train", corpus.schema, read), sys.argv[1])
quality = Quality(stressed.stressor)
start = time.perf_counter()
for dialogue in stressed:
    quality.add(dialogue)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if os.path.exists("/proc/self/status"):  # the other one still knows what the process was forked from
    peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([quality.summary().turns, seconds, peak >> 10]))
"""


def run() -> None:
    corpora.ensure_embedded()
    places = {"reminder:test": "reminder:test", "MultiWOZ 2.1 test": shared("data/multiwoz21-raw")}
    for name, place in places.items():
        if place is not None:
            corpus = corpora.load(str(place))
            held = list(corpus)
            _measure(name, Corpus(name, "test", corpus.schema, lambda held=held: iter(held)))  # type: ignore[misc]
    _stream("typos+disfluency")


def _measure(name: str, corpus: Corpus) -> None:
    turns = sum(len(dialogue.turns) for dialogue in corpus)
    print(f"{name}: {turns:,} turns, one core")
    for spec in TEXT:
        stressed = stress(corpus, spec)
        seconds = min(_seconds(stressed) for _ in range(_TIMES))
        verdict = "ok" if turns / seconds >= _PER_SECOND else "TOO SLOW"
        print(f"  {spec:<16} {turns / seconds:>8,.0f} turns a second (at least {_PER_SECOND:,}: {verdict})")


def _seconds(stressed: Corpus) -> float:
    """Processor time: other programs on the machine do not count."""
    start = time.process_time()
    for _ in stressed:
        pass
    return time.process_time() - start


def _stream(spec: str) -> None:
    found = []
    for turns in _STREAMED:
        answer = subprocess.run([sys.executable, "-c", _STREAM, spec, str(turns)], capture_output=True, check=True)
        found.append(json.loads(answer.stdout))
        done, seconds, memory = found[-1]
        print(f"{done:,} turns of {spec} streamed and summed up: {seconds:.1f} s, {memory} MB")
    (few, short, small), (many, long, large) = found
    print(f"  {many / few:.1f} x the turns: {long / short:.2f} x the time, {large / small:.2f} x the memory")
