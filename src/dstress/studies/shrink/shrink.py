"""A run's examples, shrunk side by side: each to the smallest change that still makes the tracker wrong.

Asked are only changes whose label holds, so that a tracker is never called wrong for words that lost a value. What is
asked in one round of all examples goes to the tracker together, in its batches.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Literal, NamedTuple

import msgspec
from rapidfuzz.distance import Levenshtein

from dstress.dialogue import DONTCARE, Dialogue, first_forms
from dstress.display import Displayed
from dstress.errors import DstressError, did_you_mean
from dstress.pipeline.probe import Answers, Probe, first_difference
from dstress.pipeline.run import OnProgress
from dstress.pipeline.track import Request
from dstress.runs.folder import ORIGINAL, RunFolder
from dstress.runs.scores import find_errors
from dstress.scoring.alignment.errors import EXTRA, MISSED, WRONG, SlotError
from dstress.stressors import create as create_stressor
from dstress.studies.shrink.changes import Changes, Manner, PlacedEdit, Speaker
from dstress.studies.shrink.ddmin import Parts, Reduction
from dstress.text.tokens import words_in
from dstress.trackers import Tracker
from dstress.trackers import create as create_tracker

BUDGET = 200
"""Turns that are asked for one example at most: most need under fifty."""

Status = Literal["minimal", "budget ended", "not reproduced"]
Kind = Literal["insertion", "deletion", "misspelling", "replacement", "value", "utterance"]

_LONGEST_VALUE = 6
_ALIKE = 0.5
"""From this similarity on, one word in another's place is the same word misspelled."""
_SPEAKERS: tuple[Speaker, ...] = ("system", "user")
_ERRORS: dict[int, Literal["missed", "extra", "wrong"]] = {MISSED: "missed", EXTRA: "extra", WRONG: "wrong"}
_NUMBER = re.compile(r"\d")


class Failure(NamedTuple):
    """A turn that the tracker has right on the original and wrong under a stressor, with the slots that are wrong."""

    stressor: str
    dialogue: str
    turn: int
    slots: tuple[str, ...]

    @property
    def id(self) -> str:
        """As the explorer's links have it: `typos/reminder-test-0012/3`, with turns from 1."""
        return f"{self.stressor}/{self.dialogue}/{self.turn + 1}"


class MinimalEdit(PlacedEdit, frozen=True, kw_only=True):
    """One edit that is needed to break the tracker; `slots` are those whose label it changes. Turns count from 1."""

    kind: Kind
    slots: tuple[str, ...] = ()


class ChangedUtterance(msgspec.Struct, frozen=True):
    """An utterance as it was, as the stressor left it, and with only the edits that are needed. Turns count from 1."""

    turn: int
    speaker: Speaker
    original: str
    stressed: str
    minimal: str


class WrongSlot(msgspec.Struct, frozen=True):
    """What the tracker has wrong under the smallest change."""

    slot: str
    error: Literal["missed", "extra", "wrong"]
    gold: str
    predicted: str


class ShrunkExample(msgspec.Struct, frozen=True):
    """One example: how it ended, how many turns were asked, how many words were changed, and the edits needed."""

    id: str
    stressor: str
    dialogue: str
    turn: int
    status: Status
    asked: int
    words_changed: int
    words_needed: int
    edits: list[MinimalEdit]
    utterances: list[ChangedUtterance]
    wrong: list[WrongSlot]
    failed: str = ""
    """Why the tracker gave no answer, where that is what breaks."""


class Pattern(msgspec.Struct, frozen=True):
    """Something that minimal edits have in common, and of how many examples."""

    of: dict[str, str]
    examples: int


class Shrinkage(Displayed, msgspec.Struct, frozen=True):
    """Every example, and what their smallest edits have in common."""

    run: str
    tracker: str
    convention: str
    budget: int
    failures: int
    """How many examples there are that could be shrunk."""
    asked: int
    examples: list[ShrunkExample]
    kinds: list[Pattern]
    words: list[Pattern]
    slots: list[Pattern]
    notes: list[str] = []

    def __repr__(self) -> str:
        minimal = sum(example.status == "minimal" for example in self.examples)
        return f"Shrinkage({minimal} of {len(self.examples)} examples to a minimal edit)"


def list_failures(run: RunFolder) -> list[Failure]:
    """Every example that can be shrunk: stressor after stressor in turn, so that the first few are of all of them."""
    errors = find_errors(run)
    clean, by_variant = errors.pop(ORIGINAL), []
    for variant, wrong in errors.items():
        if run.variant(variant).has_own_schema:
            continue  # other names in the schema are no edits of the dialogue
        failures = []
        for dialogue in run.variant(variant).dialogues():
            is_reached = False  # whether anything that was changed is in what the tracker saw
            for number, turn in enumerate(dialogue.turns):
                slots = tuple(error.slot for error in wrong.wrong(dialogue.id, number))
                if slots and not clean.wrong(dialogue.id, number) and (is_reached or turn.changed):
                    failures.append(Failure(variant, dialogue.id, number, slots))
                is_reached = is_reached or turn.remembered.changed
        by_variant.append(failures)
    return [failure for row in zip_longest(*by_variant) for failure in row if failure is not None]


def shrink(
    run: RunFolder,
    tracker: Tracker | None = None,
    examples: Sequence[str] = (),
    limit: int = 0,
    budget: int = BUDGET,
    on_progress: OnProgress = lambda what, done, total: None,
) -> Shrinkage:
    """Shrink examples of a run by their ids, or all of them, or the first `limit`.

    The tracker is made anew from the run's spec where none is given. `budget` is how many turns may be asked for one
    example.
    """
    tracker = tracker or create_tracker(run.manifest.tracker)
    on_progress("looking for examples", 0, None)
    failures = list_failures(run)
    chosen = _find(run, failures, examples) if examples else failures[: limit or None]
    notes = []
    if run.manifest.hashes.get("tracker") != tracker.fingerprint():
        notes.append("the tracker is not the one that the run asked: what it has right now is not reproduced")
    if skipped := [variant for variant in run.variants[1:] if run.variant(variant).has_own_schema]:
        notes.append(f"{', '.join(skipped)}: other names in the schema are no edits that could be taken back")
    with Probe(tracker, run.variant(ORIGINAL).corpus(), run.scores.convention) as probe:
        jobs = _prepare(run, chosen, budget, tracker.sequential)
        _drive(jobs, probe, on_progress)
    shrunk = [job.result() for job in jobs]
    minimal = [example for example in shrunk if example.status != "not reproduced"]
    patterns = (
        _count(({"stressor": example.stressor, "kind": edit.kind} for edit in example.edits) for example in minimal),
        _count(map(_words_of, example.edits) for example in minimal),
        _count(({"slot": slot.slot, "error": slot.error} for slot in example.wrong) for example in minimal),
    )
    made_with = str(run.path), tracker.spec or type(tracker).__name__, run.scores.convention
    return Shrinkage(*made_with, budget, len(failures), probe.asked, shrunk, *patterns, notes)


def _words_of(edit: MinimalEdit) -> dict[str, str]:
    words = {"before": edit.before, "after": edit.after}
    return {"kind": edit.kind} | {side: text.strip().casefold() for side, text in words.items()}


def _find(run: RunFolder, failures: Sequence[Failure], ids: Sequence[str]) -> list[Failure]:
    by_id = {failure.id: failure for failure in failures}
    for id_ in ids:
        if id_ not in by_id:
            problem = f"{id_} is no turn that is right on the original and wrong under a stressor of words"
            fix = did_you_mean(id_, by_id) or "`dstress shrink RUN --list` shows those that can be shrunk"
            raise DstressError(problem, where=str(run.path), fix=fix)
    return [by_id[id_] for id_ in dict.fromkeys(ids)]


def _prepare(run: RunFolder, failures: Sequence[Failure], budget: int, sequential: bool) -> list[_Job]:
    """The dialogues of the examples, in the order of the examples."""
    places = {(failure.stressor, failure.dialogue) for failure in failures}
    dialogues: dict[tuple[str, str], Dialogue] = {}
    manners: dict[str, Manner] = {}
    says_value = _value_finder(run)
    for variant in dict.fromkeys(failure.stressor for failure in failures):
        stressor = create_stressor(variant)
        rewords = any(part.rephrases or part.effect == "directional" for part in stressor.parts)
        manners[variant] = Manner(stressor.guarded, rewords, says_value)
        shown = ((variant, dialogue.id, dialogue) for dialogue in run.variant(variant).dialogues())
        dialogues |= {(name, id_): dialogue for name, id_, dialogue in shown if (name, id_) in places}
    journal = run.variant(ORIGINAL).journal()
    jobs = []
    for failure in failures:
        changes = Changes(dialogues[failure.stressor, failure.dialogue], failure.turn, manners[failure.stressor])
        jobs.append(_Job(failure, changes, budget, journal.answers(failure.dialogue) if sequential else None))
    return jobs


def _value_finder(run: RunFolder) -> Callable[[str], bool]:
    """Tells whether words name a value that the schema or some label of the run holds, or a number."""
    dialogues = chain.from_iterable(run.variant(variant).dialogues() for variant in run.variants)
    states = (turn.state for dialogue in dialogues for turn in dialogue.turns)
    forms_of_values = {form for state in states for forms in state.values() for form in forms}
    forms_of_values.update(value for slot in run.variant(ORIGINAL).schema.slots.values() for value in slot.values)
    values = {tuple(words_in(form.casefold())) for form in forms_of_values}
    values -= {(), (DONTCARE,), ("yes",)}

    def says_value(text: str) -> bool:
        words = words_in(text.casefold())
        spans = (words[start : start + size] for size in range(1, _LONGEST_VALUE + 1) for start in range(len(words)))
        return bool(_NUMBER.search(text)) or any(tuple(span) in values for span in spans)

    return says_value


class _Outcome(NamedTuple):
    """What the tracker made of a candidate: what is wrong with its answer, or why there is none."""

    errors: Sequence[SlotError] = ()
    failed: str = ""

    @property
    def kind(self) -> Literal["right", "wrong", "no answer"]:
        """A turn without an answer breaks in another way than a wrong one: the one is not shrunk to the other."""
        return "no answer" if self.failed else "wrong" if self.errors else "right"


class _Job:
    """One example on its way to its smallest change."""

    def __init__(self, failure: Failure, changes: Changes, budget: int, clean: Answers | None) -> None:
        """`clean` are a sequential tracker's answers to the original, which the turn follows on."""
        self.failure, self.changes, self.budget, self.clean = failure, changes, budget, clean
        self.asked = 0
        self.status: Status = "not reproduced"
        self.reduction = Reduction(changes.groups, changes.shown)
        self.outcomes: dict[Parts, _Outcome] = {}
        """Of what was asked; what the label guard does not let pass has none."""
        self.steps = self._shrink()

    def _shrink(self) -> Generator[list[tuple[Parts, Request]]]:
        """What to ask, round by round; when it goes on, `outcomes` has the answers."""
        clean, full = frozenset[int](), self.reduction.kept
        if not (yield from self._ask([clean, full])):
            self.status = "budget ended"
            return
        target = self.outcomes[full].kind
        if self.outcomes[clean].kind != "right" or target == "right":
            return
        rounds = self.reduction.rounds()
        candidates = next(rounds, None)
        while candidates is not None:
            complete = yield from self._ask(candidates)
            failing = [parts in self.outcomes and self.outcomes[parts].kind == target for parts in candidates]
            if not complete and True not in failing:
                self.status = "budget ended"
                return
            try:
                candidates = rounds.send(failing)
            except StopIteration:
                break
        self.status = "minimal"

    def _ask(self, candidates: Sequence[Parts]) -> Generator[list[tuple[Parts, Request]], None, bool]:
        """Ask what is not known yet and has a true label; tells whether the budget did for all of it."""
        new: list[tuple[Parts, Request]] = []
        complete = True
        for parts in candidates:
            dialogue = self.changes.dialogue(parts)
            if parts in self.outcomes or not self.changes.is_true(dialogue):
                continue
            request = self._request(dialogue)
            complete = complete and self.asked + len(request.turns) <= self.budget
            if complete:
                self.asked += len(request.turns)
                new.append((parts, request))
        if new:
            yield new
        return complete

    def _request(self, dialogue: Dialogue) -> Request:
        """The turn; for a sequential tracker from the first turn on that is not as it was."""
        turn = self.failure.turn
        if self.clean is None:
            return Request(dialogue, [turn])
        first = min(turn, first_difference(dialogue.turns, self.changes.before))
        previous = {first - 1: self.clean[first - 1].state} if first and first - 1 in self.clean else {}
        return Request(dialogue, list(range(first, turn + 1)), previous)

    def result(self) -> ShrunkExample:
        """The example as it is after the last round."""
        failure, kept = self.failure, self.reduction.kept
        place = (failure.id, failure.stressor, failure.dialogue, failure.turn + 1)
        changed = _count_words(edit for piece in self.changes.pieces for edit in piece.edits)
        if self.status == "not reproduced" or kept not in self.outcomes:
            return ShrunkExample(*place, self.status, self.asked, changed, changed, [], [], [])
        outcome, minimal = self.outcomes[kept], self.changes.dialogue(kept)
        utterances = [
            ChangedUtterance(number + 1, speaker, *texts)
            for number, turns in enumerate(zip(self.changes.before, self.changes.after, minimal.turns, strict=True))
            for speaker in _SPEAKERS
            for texts in [[str(getattr(turn, speaker)) for turn in turns]]
            if len(set(texts)) > 1
        ]
        gold = first_forms(minimal.turns[failure.turn].state)
        wrong = [
            WrongSlot(error.slot, _ERRORS[error.kind], gold.get(error.slot, ""), error.value)
            for error in outcome.errors
        ]
        edits = [self._described(edit, parts) for edit, parts in self.changes.edits(kept)]
        counts = (self.asked, changed, _count_words(edits))
        return ShrunkExample(*place, self.status, *counts, edits, utterances, wrong, outcome.failed)

    def _described(self, edit: PlacedEdit, parts: Parts) -> MinimalEdit:
        pieces = [self.changes.pieces[number] for number in parts]
        slots = tuple(sorted(frozenset().union(*(piece.slots for piece in pieces))))
        before, after = edit.before.strip(), edit.after.strip()
        kind: Kind = "replacement"
        if any(piece.turns for piece in pieces):
            kind = "utterance"
        elif slots:
            kind = "value"
        elif not before or not after:
            kind = "deletion" if before else "insertion"
        elif not set(" \n\t") & set(before + after) and Levenshtein.normalized_similarity(before, after) >= _ALIKE:
            kind = "misspelling"
        return MinimalEdit(edit.turn + 1, edit.speaker, edit.start, edit.before, edit.after, kind=kind, slots=slots)


def _drive(jobs: Sequence[_Job], probe: Probe, on_progress: OnProgress) -> None:
    """Round by round, with what all examples ask put together."""
    waiting = {number: first for number, job in enumerate(jobs) if (first := next(job.steps, None))}
    while waiting:
        on_progress("shrinking", len(jobs) - len(waiting), len(jobs))
        requests = [(jobs[number], parts, request) for number, new in waiting.items() for parts, request in new]
        answers = probe.ask([request for _, _, request in requests])
        judged = probe.judge(
            [(request.dialogue, answer) for (_, _, request), answer in zip(requests, answers, strict=True)]
        )
        for (job, parts, _), answer, errors in zip(requests, answers, judged, strict=True):
            turn = job.failure.turn
            job.outcomes[parts] = _Outcome(errors.get(turn, ()), answer[turn].failed)
        waiting = {number: new for number in waiting if (new := next(jobs[number].steps, None))}


def _count_words(edits: Iterable[PlacedEdit]) -> int:
    """Changed words: of a replacement those of its longer side."""
    return sum(max(len(edit.before.split()), len(edit.after.split())) for edit in edits)


def _count(examples: Iterable[Iterable[Mapping[str, str]]]) -> list[Pattern]:
    """How many examples have each pattern, the most frequent first; an example counts once."""
    counts = Counter(chain.from_iterable({tuple(pattern.items()) for pattern in example} for example in examples))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [Pattern(dict(pattern), count) for pattern, count in ordered]
