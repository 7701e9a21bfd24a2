"""A domain's language for the recogniser: a trigram model of a corpus's user utterances, and how its words are said.

The model is a back-off model with absolute discounting (Ney, Essen & Kneser 1994), written as an ARPA file. Words come
with pocketsphinx's own pronunciations; flite says how it would pronounce the others.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from dstress.errors import DstressError
from dstress.storage.atomic import replacing
from dstress.stressors.speech import voice
from dstress.stressors.speech.recognizers import Sphinx, sphinx_dictionary
from dstress.stressors.speech.spoken import words
from dstress.text.utterance import content_key

START, END, ORDER = "<s>", "</s>", 3
FEWEST = (1, 1, 2)
"""How often a word, a pair and a triple must be there: triples that are there once say little, and are most of all."""

_NEVER = -99.0
_ALL_SEEN = 0.9999
_TOGETHER = 50
"""Words that flite pronounces in one breath."""
_VARIANT = re.compile(r"\(\d+\)$")
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
        pronounced = pronunciations(word for sentence in sentences for word in sentence.split())
        with replacing(dictionary) as out:
            for word in sorted(pronounced):
                for number, phones in enumerate(pronounced[word], 1):
                    out.write((f"{word} {phones}\n" if number == 1 else f"{word}({number}) {phones}\n").encode())
        with replacing(model) as out:
            out.writelines(f"{line}\n".encode() for line in arpa(sentences, pronounced))
    return Sphinx(str(model), str(dictionary))


def arpa(sentences: Mapping[str, int], vocabulary: Iterable[str]) -> Iterator[str]:
    """The lines of an ARPA file; words outside the vocabulary part a sentence in two."""
    tokens_of_model = {*vocabulary, START, END}
    counted: list[Counter[Gram]] = [Counter() for _ in range(ORDER)]
    for sentence, times in sentences.items():
        tokens = [START, *sentence.split(), END]
        for order, grams in enumerate(counted, 1):
            for at in range(len(tokens) - order + 1):
                gram = tuple(tokens[at : at + order])
                if tokens_of_model.issuperset(gram):
                    grams[gram] += times
    levels = [
        {gram: count for gram, count in counts.items() if count >= fewest}
        for counts, fewest in zip(counted, FEWEST, strict=True)
    ]
    # Each word has one more than was counted, so that a rare word is not out of reach.
    total = sum(count + 1 for gram, count in levels[0].items() if gram != (START,))
    single = {gram: math.log10((count + 1) / total) for gram, count in levels[0].items()}
    probabilities = [single | {(START,): _NEVER}]
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


def _discount_level(
    level: Mapping[Gram, int], lower: list[dict[Gram, float]], backoffs: list[dict[Gram, float]]
) -> tuple[dict[Gram, float], dict[Gram, float]]:
    """Log-probabilities of a level's n-grams, and the back-off weights of their histories."""
    # What every count gives up for what was never seen: Ney's estimate from how many are there once and twice.
    counts = Counter(level.values())
    smallest = min(counts)  # what is rarer was left out
    once, twice = counts[smallest], counts[smallest + 1]
    discount = once / (once + 2 * twice) if once and twice else 0.5
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


def _log_probability(gram: Gram, lower: list[dict[Gram, float]], backoffs: list[dict[Gram, float]]) -> float:
    level = lower[len(gram) - 1]
    if gram in level:
        return level[gram]
    weight = backoffs[len(gram) - 2].get(gram[:-1], 0.0)
    return weight + _log_probability(gram[1:], lower, backoffs)


def pronunciations(words: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The pronunciations of words: pocketsphinx's, and flite's where it has none; others cannot be pronounced."""
    distinct = sorted(set(words))
    pronounced = {word: _dictionary()[word] for word in distinct if word in _dictionary()}
    others = [word for word in distinct if word not in pronounced]
    for start in range(0, len(others), _TOGETHER):
        pronounced.update(_pronounce(others[start : start + _TOGETHER]))
    return pronounced


@cache
def _dictionary() -> dict[str, tuple[str, ...]]:
    """The recogniser's own dictionary: each word's pronunciations."""
    pronounced: dict[str, tuple[str, ...]] = {}
    for line in sphinx_dictionary().splitlines():
        name, _, phones = line.partition(" ")
        word = _VARIANT.sub("", name)
        pronounced[word] = (*pronounced.get(word, ()), phones.strip())
    return pronounced


@cache
def _phones() -> frozenset[str]:
    """The phones that the recogniser's model has."""
    return frozenset(phone for forms in _dictionary().values() for form in forms for phone in form.split())


def _pronounce(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """What flite would say, many words in one breath with pauses between them; one by one where that fails."""
    spoken = [group for group in voice.phones(". ".join(words)) if _phones().issuperset(group)]
    if len(spoken) == len(words):
        return {word: (" ".join(phones),) for word, phones in zip(words, spoken, strict=True)}
    if len(words) == 1:
        return {words[0]: (" ".join(" ".join(phones) for phones in spoken),)} if spoken else {}
    half = len(words) // 2
    return _pronounce(words[:half]) | _pronounce(words[half:])
