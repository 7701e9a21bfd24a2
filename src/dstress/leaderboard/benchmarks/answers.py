"""Submissions: read in any prediction format, checked against the public inputs, and led back to the gold's turns.

Whatever a file may say beside its answers is forgotten before anything is scored: a gold state of its own, or values
that it claims to have copied, which some scripts look up in gold.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from dstress.conventions import conventions
from dstress.conventions.base import Convention
from dstress.corpora.base import Corpus
from dstress.dialogue import DONTCARE
from dstress.errors import DstressError, PredictionError
from dstress.leaderboard.benchmarks.inputs import WHOLE, Case
from dstress.leaderboard.benchmarks.package import Package
from dstress.predictions import detect, formats
from dstress.predictions.base import FramePrediction, Prediction
from dstress.runs.suites.base import ORIGINAL
from dstress.scoring.alignment.pairing import Pairing
from dstress.scoring.metrics import metrics
from dstress.spec import parse
from dstress.storage.sources import Source, open_source, unpacking_at_most

MOST_UNPACKED = 1 << 30
"""What an archive of answers may unpack to, in bytes."""
_WORDS = re.compile(r"\d[\d:]*|[^\W\d_]+")
_LONGEST = 200
"""Letters of a value that a fuzzy convention is asked about: two long ones would take it minutes."""
_ALL_ASKED = "answer every turn that asked.json of the public inputs names, under its dialogue's id"


class Answers(NamedTuple):
    """What a file answers, by public id and turn; `notes` are worth knowing and no reason to refuse it."""

    predictions: dict[str, dict[int, Prediction]]
    format: str
    notes: list[str]


def read_answers(package: Package, path: Path, format_name: str = "") -> Answers:
    """Read and check a submission; raises what `dstress score` would, in the same words."""
    try:
        with unpacking_at_most(MOST_UNPACKED), open_source(path) as source:
            return _read(package, source, format_name)
    except DstressError as error:  # the file's name is the sender's business, the folder is not
        error.where = error.where.replace(f"{path.parent}/", "")
        error.problem = error.problem.replace(f"{path.parent}/", "")
        raise


def _read(package: Package, source: Source, format_name: str) -> Answers:
    answers = Answers({}, "", [])
    cases: dict[str, list[Case]] = {part: [] for part in package.key.parts}
    for case in package.key.cases:
        cases[case.part].append(case)
    for part, corpus in package.inputs.items():
        own = source if len(cases) == 1 else _part_of(source, part)
        reader = formats.create(format_name) if format_name else detect(own)
        pairing = Pairing(corpus, _sanitised(reader.read(own, corpus.schema), cases[part]), corpus.schema)
        for dialogue, predictions in pairing:
            answers.predictions[dialogue.id] = {answer.turn: answer for answer in predictions}
        pairing.require_predictions("the public inputs")
        pairing.require_complete(_ALL_ASKED)
        answers.notes.extend(pairing.notes(conventions.create(package.key.conventions[0])))
        answers = answers._replace(format=reader.name)
    return answers


def _part_of(source: Source, part: str) -> Source:
    """The files of one part: those in the folder of its name, at the top or one below."""
    own = Source(f"{source.address}, {part}", [])
    own.files = [file for file in source.files if part in file.folder.split("/")[:2]]
    if not own.files:
        fix = "submit a zip with a folder for each part of the inputs"
        raise PredictionError(f"there is no folder {part}", where=source.address, fix=fix)
    return own


def _sanitised(predictions: Iterable[Prediction], cases: Iterable[Case]) -> Iterator[Prediction]:
    """Predictions with their answers only; the history of a stressed turn need not be answered, and counts nothing."""
    history = {case.id: set(range(case.turn)) for case in cases if case.turn != WHOLE}
    answered = set()
    for prediction in predictions:
        public_id = prediction.dialogue.casefold().removesuffix(".json")
        answered.add(public_id)
        history.get(public_id, set()).discard(prediction.turn)
        yield msgspec.structs.replace(
            prediction, dialogue=public_id, gold=None, utterance=None, informed={}, context=None, listed=None
        )
    for public_id in answered & history.keys():
        yield from (Prediction(public_id, turn, {}) for turn in sorted(history[public_id]))


def lead_back(package: Package, answers: Answers, variant: str) -> Iterator[Prediction]:
    """The answers to a variant's dialogues, under their own ids.

    A turn that a stressor left as it was keeps the answer of the version that its words are from.
    """
    public = {(case.variant, case.dialogue, case.turn): case.id for case in package.key.cases}
    framed = any(answer.frames for turns in answers.predictions.values() for answer in turns.values())
    for dialogue in package.gold.variant(variant).dialogues():
        clean = public.get((variant, dialogue.id, WHOLE)) or public[ORIGINAL, dialogue.id, WHOLE]
        for number, turn in enumerate(dialogue.turns):
            answer = answers.predictions[public.get((variant, dialogue.id, number), clean)][number]
            answered = {frame.service for frame in answer.frames}
            silent = tuple(FramePrediction(frame.service) for frame in turn.frames if frame.service not in answered)
            frames = (*answer.frames, *silent) if framed else ()
            yield msgspec.structs.replace(answer, dialogue=dialogue.id, turn=number, frames=frames)


def take_fingerprint(package: Package, answers: Answers) -> NDArray[np.uint32]:
    """A number for each answer that counts, in the key's order: how far two submissions are the same.

    The first row is of states, as the benchmark's first convention reads them: slots that it never looks at are left
    out, and values that it cannot tell apart are one. Only where more than states is measured, a second row is of
    what else the answers say.
    """
    convention = conventions.create(package.key.conventions[0])
    by_frame = convention.within_schema or convention.unit == "frame"
    measured = [*package.suite.metrics, *(column.metric for column in package.suite.table)]
    kinds = [metrics.get(name) for name in {parse(metric).name for metric in measured} if name in metrics]
    services: dict[tuple[str, str], list[set[str]]] = {}
    for variant in package.gold.variants if by_frame else ():
        for dialogue in package.gold.variant(variant).dialogues():
            services[variant, dialogue.id] = [{frame.service for frame in turn.frames} for turn in dialogue.turns]

    states, others = [], []
    readings = {part: Reading(convention, corpus) for part, corpus in package.inputs.items()}
    for case in package.key.cases:
        reading = readings[case.part]
        for turn in case.asked:
            answer = answers.predictions[case.id][turn]
            own = services[case.variant, case.dialogue][turn] if by_frame else ()
            values = {
                slot: reading.settle(slot, value, case.id)
                for slot, written in answer.state.items()
                if slot in reading.schema and convention.considers(slot, own, reading.schema)
                if (value := convention.predicted(slot, written)) is not None
            }
            states.append(zlib.crc32(msgspec.json.encode(values, order="deterministic")))
            unscored = (answer.response, answer.frames, answer.intent, answer.requested, answer.ood)
            others.append(zlib.crc32(_fold(msgspec.json.encode(unscored).decode()).encode()))
    return np.array([states] if all(kind.needs_states for kind in kinds) else [states, others], np.uint32)


class _Said(NamedTuple):
    """The words of a dialogue, and its text without blanks."""

    words: frozenset[str]
    text: str


_NOTHING = _Said(frozenset(), "")


class Reading:
    """What a convention takes predicted values for, without a look at gold: what it cannot tell apart is one text.

    Fuzzy conventions take more than a value for the value: with words before or after it, or in another order. Not
    seen through are words of the same dialogue around a value that the schema does not list, a part of such a value,
    and single letters of long ones.
    """

    def __init__(self, convention: Convention, corpus: Corpus) -> None:
        self.schema, self._convention = corpus.schema.slots, convention
        options = {slot: (*kind.values, DONTCARE) for slot, kind in self.schema.items()}
        self._options = {slot: {_fold(option): option for option in own} for slot, own in options.items()}
        self._words = {word for own in options.values() for option in own for word in _words(option)}
        self._takes_forms, self._takes_words = (
            any(self._is_right(slot, text, "word") for slot in self.schema) for text in ("word|other", "other word")
        )
        self._said: dict[str, _Said] = {}
        if self._takes_forms or self._takes_words:
            for dialogue in corpus:
                text = " ".join(text for turn in dialogue.turns for text in (turn.system, turn.user))
                self._said[dialogue.id] = _Said(frozenset(_words(text)), _fold(text))
        self._settled = cache(self._settle)

    def settle(self, slot: str, value: str, dialogue: str) -> str:
        """What a prepared value counts as in a dialogue."""
        return self._settled(slot, value, self._said.get(dialogue, _NOTHING))

    def _settle(self, slot: str, value: str, spoken: _Said) -> str:
        folded, right = _fold(value), partial(self._is_right, slot, value)
        options = self._options[slot].items()
        if fitting := sorted(fold for fold, text in options if (fold in folded or folded in fold) and right(text)):
            return "|".join(fitting)
        words = list(dict.fromkeys(_words(value)))
        # Words that nobody says and no value has make no difference, nor do such alternatives. Numbers are often said
        # in words.
        if self._takes_words:
            kept = [word for word in words if word in spoken.words or word in self._words]
            return "".join(kept or [word for word in words if word[0].isdigit()])
        if self._takes_forms:
            forms = sorted({_fold(form) for form in value.split("|")})
            kept = [form for form in forms if form in spoken.text] or [form for form in forms if form[:1].isdigit()]
            return "|".join(kept or forms)
        in_order = " ".join(sorted(words))
        return _fold(in_order) if len(in_order) <= _LONGEST and right(in_order) else folded

    def _is_right(self, slot: str, value: str, gold: str) -> bool:
        accepted = self._convention.gold(slot, (gold,))
        return bool(accepted) and self._convention.similarity(slot, accepted, value, self.schema[slot]) == 1


def _words(text: str) -> list[str]:
    return _WORDS.findall(unicodedata.normalize("NFKC", text).casefold())


def _fold(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(letter for letter in folded if letter.isalnum()) or folded.strip()
