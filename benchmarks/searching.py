"""The search for what breaks a tracker against chance at the same budget: docs/search.md's table, in an hour."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dstress.corpora import load
from dstress.pipeline.probe import Probe
from dstress.scoring.metrics.base import Floats
from dstress.studies.search import SearchOptions
from dstress.studies.search.measurements import EDITED, LOST, Measurements, Trial
from dstress.studies.search.search import search_measured
from dstress.text.utterance import random_for
from dstress.trackers import Tracker, create
from tests.studies.search.spotters import ShortSpotter, Spotter

POOL = (
    *("typos(rate=0.05)", "typos", "typos(rate=0.3)", "word_noise(rate=0.2)", "disfluency", "disfluency(rate=6)"),
    *("verbosity(additions=1)", "verbosity(additions=3)", "simplification", "time_format", "indirect", "turnback"),
)
SEEDS = range(201, 225)


def run() -> None:
    trackers = {name: create(name) for name in ("rules", "rules(train=reminder:train)")}
    for name, tracker in {**trackers, "spotter": Spotter(), "short spotter": ShortSpotter()}.items():
        rates = against_random(tracker, SEEDS)
        gains = rates[:, 0] - rates[:, 1]
        signs = np.random.default_rng(1).choice((1, -1), size=(9999, len(gains)))
        p = (1 + (signs @ gains >= gains.sum() - 1e-12).sum()) / 10_000
        ours, theirs = 100 * rates.mean(axis=0)
        print(f"{name}: search {ours:.1f}, random {theirs:.1f}, p {p:.3f}")


def against_random(tracker: Tracker, seeds: Sequence[int]) -> Floats:
    """Turns broken per edited word, (seeds, 2): by what the search chose, and by what chance proposed.

    Both see the same halves and have the same budget; winners are judged on all held-out dialogues.
    """
    corpus, rates = load("reminder:test"), []
    with Probe(tracker, corpus, "exact") as probe:
        measurements = Measurements(probe, corpus, 1)
        for seed in seeds:
            names = sorted(measurements.dialogues)
            random_for(seed, "halves").shuffle(names)
            row = []
            for method in ("bounds", "random"):
                options = SearchOptions(budget=1000, seed=seed, stressors=POOL, resamples=10, method=method)
                winner = search_measured(measurements, options).winner.spec
                trials = [Trial(winner, name) for name in names[1::2]]
                measurements.measure(trials)
                sums = measurements.counts(trials).sum(axis=0)
                row.append(sums[LOST] / sums[EDITED])
            rates.append(row)
    return np.array(rates)
