"""BLEU of delexicalised responses, in parity with mwzeval, which calls sacreBLEU; and the field's combined score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from dstress.dialogue import Dialogue
from dstress.errors import UNREADABLE_JSON, DstressError, PredictionError, place
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import Columns
from dstress.scoring.metrics.base import POINTS, Floats, Metric
from dstress.scoring.metrics.task_success import Inform, Success
from dstress.text.detokenised import detokenise
from dstress.text.placeholders import Placeholders, delexicalise_by_spans

_ORDERS = 4
_LENGTHS = 2 * _ORDERS
"""Where the lengths of responses and references stand, after the n-grams that fit and all n-grams."""
_WIDTH = _LENGTHS + 2
_REFERENCES = msgspec.json.Decoder(dict[str, list[str]])


class Bleu(Metric):
    """BLEU of responses against the corpus's own, delexicalised by its spans, or `references` (mwzeval, sacreBLEU).

    `references` is a JSON file `{dialogue: [response, ...]}` of unified responses, such as mwzeval's own.
    """

    name = "bleu"
    width = _WIDTH
    by_turn = True
    on_request = reads_responses = True
    needs_states = restrictable = False
    unit = POINTS

    def __init__(self, references: str = "") -> None:
        self.references = references
        self._given = _read_references(Path(references)) if references else None

    def missing(self, alignment: Alignment) -> str:
        if all(prediction.response is None for prediction in alignment.columns.predictions):
            return "the predictions have no responses"
        if self._given is None and not any(any(dialogue.responses) for dialogue in alignment.columns.gold_dialogues):
            return "the gold has no words of the system"
        return ""

    def statistics(self, alignment: Alignment) -> Floats:
        columns, placeholders = alignment.columns, Placeholders(alignment.columns.schema)
        pairs = zip(unified_responses(columns), self._expected(columns, placeholders), strict=True)
        nothing = [0] * _WIDTH  # where nobody knows what the system should say
        return np.array([_count(*pair) if pair[1] else nothing for pair in pairs], np.float64)

    def value(self, sums: Floats) -> Floats:
        """sacreBLEU's: an order without a fit counts as half, a quarter ... of one n-gram; 0 without any fit."""
        fits, ngrams = sums[..., :_ORDERS], sums[..., _ORDERS:_LENGTHS]
        length, expected = sums[..., _LENGTHS], sums[..., _LENGTHS + 1]
        smoothed = np.where(fits == 0, 0.5 ** np.cumsum(fits == 0, axis=-1), fits)
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = np.exp(np.mean(np.log(np.where(ngrams > 0, smoothed / ngrams, 0.0)), axis=-1))
            brevity = np.where(length < expected, np.exp(1.0 - expected / length), 1.0)
        score = np.where(fits.any(axis=-1), 100.0 * brevity * precision, 0.0)
        return np.where(expected > 0, score, np.nan)

    def count(self, sums: Floats) -> float:
        return float(sums[..., _LENGTHS])

    def _expected(self, columns: Columns, placeholders: Placeholders) -> Iterator[str]:
        for dialogue, predictions in columns.paired():
            numbers = [prediction.turn for prediction in predictions]
            if self._given is None:
                texts = list(delexicalised_by_spans(dialogue))
                yield from (unified(texts[number], placeholders) for number in numbers)
                continue
            responses = self._given.get(dialogue.id.casefold(), [])
            if len(responses) <= max(numbers, default=-1):
                fix = "give a response for every turn of the gold, or leave the references out"
                where = place(self.references, dialogue.id, len(responses))
                raise PredictionError("there is no reference", where=where, fix=fix)
            yield from (responses[number] for number in numbers)


class Combined(Metric):
    """(inform + success) / 2 + BLEU, the field's one number for a dialogue system; `references` are those of `bleu`."""

    name = "combined"
    width = 4 + _WIDTH
    by_turn = by_dialogue = True
    on_request = reads_responses = True
    needs_states = restrictable = False
    unit = POINTS

    def __init__(self, references: str = "") -> None:
        self._parts = (Inform(), Success(), Bleu(references))

    def missing(self, alignment: Alignment) -> str:
        return next(filter(None, (part.missing(alignment) for part in self._parts)), "")

    def statistics(self, alignment: Alignment) -> Floats:
        return np.column_stack([part.statistics(alignment) for part in self._parts])

    def value(self, sums: Floats) -> Floats:
        inform, success, bleu = self._parts
        rates = inform.value(sums[..., :2]) + success.value(sums[..., 2:4])
        return np.asarray(rates / 2 + bleu.value(sums[..., 4:]), np.float64)


def unified(response: str, placeholders: Placeholders) -> str:
    """A response as mwzeval compares it: in lower case, placeholders by kind, put together as Moses does."""
    return detokenise(placeholders.unify(response).replace("-s", "").replace("-ly", ""))


def unified_responses(columns: Columns) -> list[str]:
    """What the system says, turn by turn, as it is compared; nothing where it gives no answer."""
    if "unified" not in columns.memo:
        placeholders = Placeholders(columns.schema)
        columns.memo["unified"] = [unified(answer.response or "", placeholders) for answer in columns.predictions]
    return list(columns.memo["unified"])


def delexicalised_by_spans(dialogue: Dialogue) -> list[str]:
    """What the system answers to each turn, with a placeholder for every value that the corpus marks."""
    answers = zip(dialogue.responses, dialogue.response_frames, strict=True)
    return [delexicalise_by_spans(text, frames) for text, frames in answers]


def _read_references(path: Path) -> Mapping[str, list[str]]:
    try:
        references = _REFERENCES.decode(path.read_bytes())
    except (OSError, *UNREADABLE_JSON) as error:
        fix = "give a JSON file {dialogue: [response, ...]}"
        raise DstressError(f"cannot read the references: {error}", where=str(path), fix=fix) from None
    return {name.casefold().removesuffix(".json"): responses for name, responses in references.items()}


def _count(response: str, reference: str) -> list[int]:
    """The n-grams of a response that fit, all of them, and both lengths."""
    ours, theirs = _ngrams(response), _ngrams(reference)
    fits = [sum((mine & other).values()) for mine, other in zip(ours, theirs, strict=True)]
    totals = [ngrams.total() for ngrams in ours]
    return [*fits, *totals, totals[0], theirs[0].total()]


@lru_cache(maxsize=100_000)
def _ngrams(text: str) -> list[Counter[tuple[str, ...]]]:
    tokens = str(_tokeniser()(text.rstrip())).split()
    return [Counter(zip(*(tokens[start:] for start in range(order)), strict=False)) for order in range(1, _ORDERS + 1)]


@cache
def _tokeniser() -> Any:
    from sacrebleu.metrics.bleu import BLEU  # takes a while to import

    return BLEU(tokenize="13a").tokenizer
