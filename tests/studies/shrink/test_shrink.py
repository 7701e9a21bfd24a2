"""Examples of a run, shrunk: the smallest edit breaks the tracker, and none of it can be left out."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dstress.corpora import load
from dstress.dialogue import Edit, first_forms
from dstress.errors import DstressError
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import Run
from dstress.runs.suites.base import Suite
from dstress.studies.shrink import ShrunkExample, list_failures, shrink
from dstress.studies.shrink.tables import edits_of, mark_edits, shrinkage_tables
from dstress.text.edits import apply
from dstress.trackers import Context, Tracker, create
from dstress.trackers.base import Answer, Failed


class Touchy(Tracker):
    """Right, unless an odd number of the words that it sees are among those that it cannot bear.

    So taking one word back may break it again: a harder case for delta debugging than any sane tracker.
    """

    def __init__(self, seed: int, odds: int = 5, memory: bool = False) -> None:
        self.seed, self.odds, self.memory = seed, odds, memory

    def bears(self, text: str) -> bool:
        words = (blake2b(f"{self.seed} {word}".encode(), digest_size=2).digest()[0] for word in text.split())
        return sum(digest % self.odds == 0 for digest in words) % 2 == 0

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        return [self.answer(context) for context in contexts]

    def answer(self, context: Context) -> Answer:
        history = [f"{one.system} {one.user}" for one in context.history] if self.memory else []
        state = first_forms(context.gold.state)
        if self.bears(" ".join([*history, context.system, context.user])):
            return state
        return {"reminders-task": "something else"}


class Sequential(Touchy):
    """The same, but it says again what it said before, right or wrong, and only reads the words at hand."""

    sequential = True

    def answer(self, context: Context) -> Answer:
        if not self.bears(context.user) or "broken" in (context.previous or {}):
            return {"broken": "yes"}
        return first_forms(context.gold.state)


def run_of(path: Path, tracker: Tracker, *stressors: str, limit: int = 3) -> Run:
    suite = Suite("touchy", stressors=stressors, metrics=("jga",))
    return evaluate(suite, tracker, load("reminder:test"), path, limit=limit, resamples=20, report=False)


def without(example: ShrunkExample, left_out: int) -> list[str]:
    """The changed utterances with all needed edits but one."""
    texts = []
    for one in example.utterances:
        edits = [e for e in edits_of(example, one.turn, one.speaker) if e is not example.edits[left_out]]
        texts.append(apply(one.original, [Edit(e.start, e.before, e.after) for e in edits]))
    return texts


@pytest.mark.slow
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10_000), st.sampled_from(["typos(rate=0.4)", "disfluency(rate=4)", "typos+verbosity"]))
def test_the_edit_is_1_minimal_for_a_deterministic_tracker(
    tmp_path_factory: pytest.TempPathFactory, seed: int, stressor: str
) -> None:
    tracker = Touchy(seed)
    run = run_of(tmp_path_factory.mktemp("shrink") / "run", tracker, stressor)
    shrunk = shrink(run, tracker, limit=12)
    for example in shrunk.examples:
        assert example.status == "minimal"
        (utterance,) = example.utterances
        clean = next(d for d in run.variant("original").dialogues() if d.id == example.dialogue).turns[example.turn - 1]
        assert utterance.original == clean.user and tracker.bears(f"{clean.system} {clean.user}")
        assert not tracker.bears(f"{clean.system} {utterance.minimal}")
        for number in range(len(example.edits)):
            (text,) = without(example, number)
            assert tracker.bears(f"{clean.system} {text.strip()}"), (example.id, number)


def test_edits_of_earlier_turns_are_shrunk_too(tmp_path: Path) -> None:
    tracker = Touchy(3, memory=True)
    run = run_of(tmp_path / "run", tracker, "typos(rate=0.2, scope=dialogue)", limit=4)
    shrunk = shrink(run, tracker)
    assert shrunk.examples and all(example.status == "minimal" for example in shrunk.examples)
    assert any(edit.turn < example.turn for example in shrunk.examples for edit in example.edits)
    for example in shrunk.examples:
        assert len(example.edits) < 6, "an odd number of words is reached by a few"


@pytest.mark.parametrize("stressor", ["typos(rate=0.3)", "typos(rate=0.3, scope=dialogue)"])
def test_a_sequential_tracker_follows_on_its_own_answers(tmp_path: Path, stressor: str) -> None:
    tracker = Sequential(5, odds=8)
    run = run_of(tmp_path / "run", tracker, stressor, limit=6)
    shrunk = shrink(run, tracker)
    assert shrunk.examples and {example.status for example in shrunk.examples} == {"minimal"}
    asked_alone = [example.asked for example in shrunk.examples if example.words_changed == example.words_needed == 1]
    if "scope" in stressor:
        carried = [e for e in shrunk.examples if e.edits[0].turn < e.turn]
        assert carried, "an error goes on into later turns, and is shrunk to where it began"
    else:
        assert set(asked_alone) <= {2} and all(e.edits[0].turn == e.turn for e in shrunk.examples)


def test_the_budget_is_kept_and_said(tmp_path: Path) -> None:
    tracker = Touchy(1)
    run = run_of(tmp_path / "run", tracker, "verbosity(additions=4)", limit=4)
    tight = shrink(run, tracker, budget=3)
    ended = [example for example in tight.examples if example.status == "budget ended"]
    assert ended and all(example.asked <= 3 for example in tight.examples)
    assert all(example.edits for example in ended), "what is left by then is shown"
    ample = {example.id: example for example in shrink(run, tracker, budget=500).examples}
    assert {example.status for example in ample.values()} == {"minimal"}
    assert all(ample[example.id].words_needed <= example.words_needed for example in ended)
    assert tight.asked == sum(example.asked for example in tight.examples)


def test_a_tracker_that_gives_no_answer_is_shrunk_to_what_makes_it_fail(tmp_path: Path) -> None:
    class Breaking(Touchy):
        def answer(self, context: Context) -> Answer:
            return first_forms(context.gold.state) if self.bears(context.user) else Failed("it broke")

    tracker = Breaking(2)
    run = run_of(tmp_path / "run", tracker, "typos(rate=0.3)")
    shrunk = shrink(run, tracker, limit=4)
    assert shrunk.examples
    assert all(example.failed == "it broke" and not example.wrong for example in shrunk.examples)


def test_what_does_not_happen_again_is_said(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", Touchy(1), "typos(rate=0.3)")
    shrunk = shrink(run, Touchy(1, odds=10**6), limit=3)
    assert {example.status for example in shrunk.examples} == {"not reproduced"}
    assert not any(example.edits for example in shrunk.examples) and shrunk.kinds == []
    assert "not the one that the run asked" in shrunk.notes[0]


def test_examples_go_by_the_ids_of_the_explorer(tmp_path: Path) -> None:
    tracker = Touchy(1)
    run = run_of(tmp_path / "run", tracker, "typos(rate=0.3)", "disfluency", "schema_noise")
    failures = list_failures(run)
    assert {failure.stressor for failure in failures[:2]} == {"typos(rate=0.3)", "disfluency"}
    wanted = failures[-1].id
    assert wanted == f"{failures[-1].stressor}/{failures[-1].dialogue}/{failures[-1].turn + 1}"
    shrunk = shrink(run, tracker, [wanted])
    assert [example.id for example in shrunk.examples] == [wanted]
    assert any("schema_noise" in note for note in shrunk.notes)
    with pytest.raises(DstressError, match="no turn that is right on the original"):
        shrink(run, tracker, ["typos/reminder-test-0000/99"])


def test_saved_answers_cannot_be_asked_anew(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", Touchy(1), "typos(rate=0.3)")
    with pytest.raises(DstressError, match="never asked"):
        shrink(run, create(f"saved({run.path})"))


def test_the_summary_counts_what_the_examples_have_in_common(tmp_path: Path) -> None:
    tracker = Touchy(4)
    run = run_of(tmp_path / "run", tracker, "typos(rate=0.3)", "verbosity", limit=6)
    shrunk = shrink(run, tracker)
    for pattern in shrunk.kinds:
        fitting = [
            example
            for example in shrunk.examples
            if example.stressor == pattern.of["stressor"] and any(e.kind == pattern.of["kind"] for e in example.edits)
        ]
        assert pattern.examples == len(fitting)
    assert {pattern.of["slot"] for pattern in shrunk.slots} == {w.slot for e in shrunk.examples for w in e.wrong}
    assert [p.examples for p in shrunk.words] == sorted((p.examples for p in shrunk.words), reverse=True)
    tables = shrinkage_tables(shrunk)
    assert len(tables["examples"].rows) == len(shrunk.examples) and shrunk.tables["words"].records
    assert msgspec.json.decode(msgspec.json.encode(shrunk), type=type(shrunk)) == shrunk
    one = shrunk.examples[0].utterances[0]
    marked = mark_edits(one.original, edits_of(shrunk.examples[0], one.turn, one.speaker))
    assert "{+" in marked or "[-" in marked
