"""A domain's language for the recogniser: a trigram model of a corpus's user utterances, and how its words are said.

The model is a back-off model with absolute discounting (Ney, Essen & Kneser 1994), written as an ARPA file. Words come
with pocketsphinx's own pronunciations; flite says how it would pronounce the others.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from dstress.errors import DstressError
from dstress.storage.atomic import replacing
from dstress.stressors.speech.audio_cache import content_key
from dstress.stressors.speech.pronunciation import pronunciations
from dstress.stressors.speech.sphinx import Sphinx
from dstress.stressors.speech.spoken import words

START, END, ORDER = "<s>", "</s>", 3
FEWEST = (1, 1, 2)
"""How often a word, a pair and a triple must be there: triples that are there once say little, and are most of all."""

_NEVER = -99.0
_ALL_SEEN = 0.9999
Gram = tuple[str, ...]


def domain_language(folder: Path, texts: Iterable[str]) -> Sphinx:
    """The language of some texts, as files in `folder`; made once for the same texts."""
    sentences = Counter(" ".join(words(text)) for text in texts)
    sentences.pop("", None)
    if not sentences:
        raise DstressError("the corpus for the language model says nothing", fix="name a corpus with user utterances")
    key = content_key("2", *(part for pair in sorted(sentences.items()) for part in pair)).hex()
    model, dictionary = folder / "languages" / f"{key}.arpa", folder / "languages" / f"{key}.dict"
    if not (model.exists() and dictionary.exists()):
        known = pronunciations(word for sentence in sentences for word in sentence.split())
        with replacing(dictionary) as out:
            for word in sorted(known):
                for number, phones in enumerate(known[word], 1):
                    out.write((f"{word} {phones}\n" if number == 1 else f"{word}({number}) {phones}\n").encode())
        with replacing(model) as out:
            out.writelines(f"{line}\n".encode() for line in arpa(sentences, known))
    return Sphinx(str(model), str(dictionary))


def arpa(sentences: Mapping[str, int], vocabulary: Iterable[str]) -> Iterator[str]:
    """The lines of an ARPA file; words outside the vocabulary part a sentence in two."""
    counted = zip(_count_grams(sentences, set(vocabulary)), FEWEST, strict=True)
    levels = [{gram: count for gram, count in counts.items() if count >= fewest} for counts, fewest in counted]
    probabilities = [_unigrams(levels[0])]
    backoffs: list[dict[Gram, float]] = []
    for counts in filter(None, levels[1:]):
        discounted, weights = _discount_level(counts, probabilities, backoffs)
        probabilities.append(discounted)
        backoffs.append(weights)
    yield "\\data\\"
    yield from (f"ngram {order}={len(level)}" for order, level in enumerate(probabilities, 1))
    for order, level in enumerate(probabilities, 1):
        yield f"\n\\{order}-grams:"
        behind = backoffs[order - 1] if order < len(probabilities) else None
        for gram in sorted(level):
            weight = "" if behind is None else f" {behind.get(gram, 0.0):.4f}"
            yield f"{level[gram]:.4f} {' '.join(gram)}{weight}"
    yield "\n\\end\\"


def _count_grams(sentences: Mapping[str, int], vocabulary: set[str]) -> list[Counter[Gram]]:
    levels: list[Counter[Gram]] = [Counter() for _ in range(ORDER)]
    for sentence, times in sentences.items():
        tokens = [START, *sentence.split(), END]
        for order, level in enumerate(levels, 1):
            for at in range(len(tokens) - order + 1):
                gram = tuple(tokens[at : at + order])
                if all(token in vocabulary or token in (START, END) for token in gram):
                    level[gram] += times
    return levels


def _unigrams(level: Mapping[Gram, int]) -> dict[Gram, float]:
    """Log-probabilities of words; each has one more than was counted, so that a rare word is not out of reach."""
    total = sum(count + 1 for gram, count in level.items() if gram != (START,))
    return {gram: math.log10((count + 1) / total) for gram, count in level.items()} | {(START,): _NEVER}


def _discount_level(
    level: Mapping[Gram, int], lower: list[dict[Gram, float]], backoffs: list[dict[Gram, float]]
) -> tuple[dict[Gram, float], dict[Gram, float]]:
    """Log-probabilities of a level's n-grams, and the back-off weights of their histories."""
    discount = _discount(level)
    totals: Counter[Gram] = Counter()
    for gram, count in level.items():
        totals[gram[:-1]] += count
    seen: defaultdict[Gram, float] = defaultdict(float)
    below: defaultdict[Gram, float] = defaultdict(float)
    probabilities: dict[Gram, float] = {}
    for gram, count in level.items():
        share = (count - discount) / totals[gram[:-1]]
        probabilities[gram] = math.log10(share)
        seen[gram[:-1]] += share
        below[gram[:-1]] += 10 ** _log_probability(gram[1:], lower, backoffs)
    weights: dict[Gram, float] = {}
    for history in totals:
        weights[history] = 0.0
        # Where all words were seen, there is nothing to back off to, and nothing to give up.
        if below[history] < _ALL_SEEN:
            weights[history] = math.log10((1 - seen[history]) / (1 - below[history]))
    for gram in probabilities:
        if below[gram[:-1]] >= _ALL_SEEN:
            probabilities[gram] -= math.log10(seen[gram[:-1]])
    return probabilities, weights


def _discount(level: Mapping[Gram, int]) -> float:
    """What every count gives up for what was never seen: Ney's estimate from how many are there once and twice."""
    counts = Counter(level.values())
    smallest = min(counts)  # what is rarer was left out
    once, twice = counts[smallest], counts[smallest + 1]
    return once / (once + 2 * twice) if once and twice else 0.5


def _log_probability(gram: Gram, lower: list[dict[Gram, float]], backoffs: list[dict[Gram, float]]) -> float:
    level = lower[len(gram) - 1]
    if gram in level:
        return level[gram]
    weight = backoffs[len(gram) - 2].get(gram[:-1], 0.0)
    return weight + _log_probability(gram[1:], lower, backoffs)
