"""Back-translation: utterances a second through Apertium, one lasting process chain per direction."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable

from benchmarks.timing import shared
from dstress import corpora
from dstress.corpora.base import Corpus
from dstress.pipeline.stress import stress
from dstress.stressors.translators import translators
from dstress.stressors.translators.round_trip import round_trips

_PER_SECOND = 300
_UTTERANCES = 1500
_ROUTES = ("es", "eo", "ca", "gl")


def run() -> None:
    if shutil.which("apertium") is None:
        print("left out: needs apertium")
        return
    place = shared("data/multiwoz21-raw")
    corpora.ensure_embedded()
    corpus = corpora.load(str(place) if place else "reminder:test")
    held = list(corpus)
    said = [turn.user for dialogue in held for turn in dialogue.turns][:_UTTERANCES]
    _paraphrase(Corpus("held", "test", corpus.schema, lambda: iter(held)))
    for route in _ROUTES:
        _route(said, route)


def _paraphrase(corpus: Corpus) -> None:
    """The stressor as users meet it: default routes, sentences that cannot change left out, repeats done once."""
    stressed = stress(corpus, "paraphrase(strength=mild)")
    seconds = _timed(lambda: list(stressed))
    turns = sum(len(dialogue.turns) for dialogue in corpus)
    speed = turns / seconds
    verdict = "ok" if speed >= _PER_SECOND else "TOO SLOW"
    print(f"paraphrase(strength=mild), all of {turns:,} turns: {speed:,.0f} a second ({_PER_SECOND}: {verdict})")


def _route(said: list[str], route: str) -> None:
    """A whole round trip of every utterance, nothing left out."""
    translator = translators.create("apertium")
    round_trips(translator, said[:5], route)
    seconds = _timed(lambda: round_trips(translator, said, route))
    translator.close()
    print(f"  round trip by {route}: {len(said) / seconds:,.0f} utterances a second")


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
