"""Submissions: read in any prediction format, checked against the public inputs, and led back to the gold's turns.

Whatever a file may say beside its answers is forgotten before anything is scored: a gold state of its own, or values
that it claims to have copied, which some scripts look up in gold.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from dstress.alignment.pairing import Pairing
from dstress.conventions import conventions
from dstress.errors import DstressError, PredictionError
from dstress.leaderboard.benchmarks.inputs import WHOLE, Case
from dstress.leaderboard.benchmarks.package import Package
from dstress.predictions import detect, formats
from dstress.predictions.base import FramePrediction, Prediction
from dstress.storage.sources import Source, open_source, unpacking_at_most
from dstress.suites.base import ORIGINAL

MOST_UNPACKED = 1 << 30
"""What an archive of answers may unpack to, in bytes."""
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
        read = _Sanitised(reader.read(own, corpus.schema), cases[part])
        pairing = Pairing(corpus, read, corpus.schema)
        answers.predictions.update(
            (dialogue.id, {answer.turn: answer for answer in found}) for dialogue, found in pairing
        )
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
        fix = "hand in a zip with a folder for each part of the inputs"
        raise PredictionError(f"there is no folder {part}", where=source.address, fix=fix)
    return own


class _Sanitised:
    """Predictions with their answers only; the history of a stressed turn need not be answered, and counts nothing."""

    def __init__(self, predictions: Iterable[Prediction], cases: Iterable[Case]) -> None:
        self.predictions = predictions
        self.history = {case.id: set(range(case.turn)) for case in cases if case.turn != WHOLE}

    def __iter__(self) -> Iterator[Prediction]:
        known = set()
        for read in self.predictions:
            public_id = read.dialogue.casefold().removesuffix(".json")
            known.add(public_id)
            self.history.get(public_id, set()).discard(read.turn)
            yield msgspec.structs.replace(
                read, dialogue=public_id, gold=None, utterance=None, informed={}, context=None, listed=None
            )
        for public_id in known & self.history.keys():
            yield from (Prediction(public_id, turn, {}) for turn in sorted(self.history[public_id]))


def lead_back(package: Package, answers: Answers, variant: str) -> Iterator[Prediction]:
    """The answers to a variant's dialogues, under their own ids.

    A turn that a stressor left as it was keeps the answer of the version that its words are from.
    """
    public = {(case.variant, case.dialogue, case.turn): case.id for case in package.key.cases}
    framed = any(answer.frames for turns in answers.predictions.values() for answer in turns.values())
    for dialogue in package.gold.dialogues(variant):
        clean = public.get((variant, dialogue.id, WHOLE)) or public[ORIGINAL, dialogue.id, WHOLE]
        for number, turn in enumerate(dialogue.turns):
            answer = answers.predictions[public.get((variant, dialogue.id, number), clean)][number]
            given = {frame.service for frame in answer.frames}
            silent = tuple(FramePrediction(frame.service) for frame in turn.frames if frame.service not in given)
            frames = (*answer.frames, *silent) if framed else ()
            yield msgspec.structs.replace(answer, dialogue=dialogue.id, turn=number, frames=frames)


def take_fingerprint(package: Package, answers: Answers) -> NDArray[np.uint32]:
    """A number for each answer that counts, in the key's order: how far two submissions are the same."""
    return np.array(
        [zlib.crc32(_content(answers.predictions[case.id], turn)) for case in package.key.cases for turn in case.asked],
        np.uint32,
    )


def _content(answers: Mapping[int, Prediction], turn: int) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(answers[turn], dialogue=""), order="deterministic")


def public_turns(package: Package) -> int:
    """How many turns are asked for."""
    return sum(len(case.asked) for case in package.key.cases)
