"""Runs that survive anything: killed, full disks, trackers that misbehave. The end is always the same bytes."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from dstress.corpora.base import Corpus
from dstress.dialogue import Schema, first_forms
from dstress.engines import Local
from dstress.errors import DstressError
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import RunOptions, rescore
from dstress.resources import Resources
from dstress.runs.folder import ORIGINAL, RunFolder, hold_run
from dstress.trackers.base import Answer, Context
from dstress.trackers.gold import Gold
from tests.fakes.trackers import SUITE, Naughty
from tests.paths import ROOT, SEARCHED
from tests.stressors.samples import sample

LOGGED = "tests.fakes.trackers:Logged"
REMINDER = sample("reminder", None, 24)
KILLS = int(os.environ.get("KILLS", "8"))
"""At moments drawn from one seed; `make fuzz` draws more."""
RUN = """
import sys
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import RunOptions
from dstress.engines import Local
from tests.fakes.trackers import Logged
from tests.paths import ROOT, SEARCHED
from tests.stressors.samples import sample
if __name__ == "__main__":
    suite, out, log, workers, sequential, resume = sys.argv[1:]
    tracker = Logged(log, 0.002, sequential == "yes")
    options = RunOptions(resume=resume == "yes", resamples=50, report=False)
    evaluate(suite, tracker, sample("reminder", None, 24), out, options, Local(int(workers)))
"""
OWN = """
import tomllib
from pathlib import Path
from own_helper import STATE
from dstress.stressors.base import Rewriter
from dstress.trackers.base import Tracker

class Mine(Tracker):
    def track(self, contexts):
        return [STATE for _ in contexts]

class Hm(Rewriter):
    def rewrite(self, utterance, protected, random):
        table = Path(__file__).with_name("own_words.toml").read_text()
        return tomllib.loads(table)["words"][0] + " " + utterance
"""


@pytest.fixture
def suite(tmp_path: Path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SUITE)
    return str(path)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file but the one that says how long it took."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "timing.json")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def differing(one: dict[str, bytes], other: dict[str, bytes]) -> dict[str, tuple[bytes, bytes]]:
    """What differs, from where it begins to: whole files would fill the screen."""
    found = {}
    for name in sorted(one.keys() | other.keys()):
        left, right = one.get(name, b"no such file"), other.get(name, b"no such file")
        if left != right:
            at = next((at for at, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]), 0)
            found[name] = (left[at : at + 200], right[at : at + 200])
    return found


def started(tmp_path: Path, suite: str, out: Path, *rest: str, errors: int | None = None) -> subprocess.Popen[bytes]:
    script = tmp_path / "script.py"
    script.write_text(RUN)
    command = [sys.executable, str(script), suite, str(out), *rest]
    return subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": SEARCHED}, stderr=errors)


def asked(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def answered(out: Path) -> int:
    """Whole answers in the folder."""
    lines = [line for path in out.glob("predictions/*.jsonl") for line in path.read_bytes().splitlines(keepends=True)]
    return sum(line.endswith(b"\n") for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("sequential", ["no", "yes"])
def test_killed_anywhere_it_ends_the_same(tmp_path: Path, suite: str, sequential: str) -> None:
    undisturbed = tmp_path / "undisturbed"
    start = time.monotonic()
    process = started(tmp_path, suite, undisturbed, str(tmp_path / "log"), "1", sequential, "no")
    assert process.wait() == 0
    lasts, expected, rng = time.monotonic() - start, contents(undisturbed), random.Random(1)
    in_all = answered(undisturbed)
    for number in range(KILLS // 2):
        out, log = tmp_path / f"killed{number}", tmp_path / f"log{number}"
        how = signal.SIGTERM if number % 4 == 0 else signal.SIGKILL
        process = started(tmp_path, suite, out, str(log), "1", sequential, "no")
        time.sleep(rng.uniform(0.2, 1.0) * lasts)
        process.send_signal(how)
        process.wait()
        whole, before = answered(out), len(asked(log))
        process = started(tmp_path, suite, out, str(log), "1", sequential, "yes")
        assert process.wait() == 0
        assert differing(contents(out), expected) == {}
        assert len(asked(log)) - before <= in_all - whole, "what was whole is not asked again"


@pytest.mark.slow
def test_a_full_disk_stops_it_and_nothing_is_lost(
    tmp_path: Path, suite: str, small_disk: Callable[[str], Path]
) -> None:
    undisturbed = tmp_path / "undisturbed"
    assert started(tmp_path, suite, undisturbed, str(tmp_path / "log"), "1", "no", "no").wait() == 0
    needed = sum(len(data) for data in contents(undisturbed).values())
    # Full while stressing, while tracking, and when nearly all is there; then there is space again.
    for number, share in enumerate((0.3, 0.75, 0.9)):
        out, log = small_disk(str(int(share * needed))) / f"run{number}", tmp_path / f"log{number}"
        process = started(tmp_path, suite, out, str(log), "1", "no", "no", errors=subprocess.PIPE)
        _, said = process.communicate()
        assert process.returncode == 1 and b"the disk is full" in said
        whole, before = answered(out), len(asked(log))
        small_disk(str(4 * needed))
        assert started(tmp_path, suite, out, str(log), "1", "no", "yes").wait() == 0
        assert differing(contents(out), contents(undisturbed)) == {}
        assert len(asked(log)) - before <= answered(undisturbed) - whole
        shutil.rmtree(out)


@pytest.mark.slow
@pytest.mark.parametrize("engine", [Local(2), Local(1, timeout=60), Local(3)])
def test_workers_change_no_byte(tmp_path: Path, suite: str, engine: Local) -> None:
    for sequential in (False, True):
        tracker = f"tests.fakes.trackers:Logged(sequential={str(sequential).lower()})"
        one, other = (tmp_path / f"{name}{sequential}" for name in ("one", "other"))
        evaluate(suite, tracker, REMINDER, one, RunOptions(resamples=50, report=False))
        evaluate(suite, tracker, REMINDER, other, RunOptions(resamples=50, report=False), engine)
        assert differing(contents(one), contents(other)) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("raise", "ValueError: cannot understand this"),
        ("few", "0 answers to 1 turns"),
        ("many", "2 answers to 1 turns"),
        ("text", "malformed: 'hotel in the north' is no state"),
        ("key", "malformed: 7 is no slot"),
        ("value", "malformed: the value of taxi-destination is no text: 5"),
        ("none", "malformed: None is no state"),
        ("list", "malformed: the value of taxi-destination is no text: [['x']]"),
        ("nothing", "malformed: the value of taxi-destination is no text: None"),
        ("bytes", "malformed: the value of taxi-destination is no text: b'x'"),
        ("numpy", "malformed: Encoding objects of type numpy.str_ is unsupported"),
        (
            "surrogate",
            "malformed: 'utf-8' codec can't encode character '\\ud800' in position 0: surrogates not allowed",
        ),
        (
            "surrogate slot",
            "malformed: 'utf-8' codec can't encode character '\\ud800' in position 0: surrogates not allowed",
        ),
        ("huge", "malformed: an answer of 2,097,2"),
        ("intent", "malformed: Expected `str | null`, got `int` - at `$.intent`"),
        ("requested", "malformed: Expected `array | null`, got `int` - at `$.requested`"),
        ("response", "malformed: Expected `str | null`, got `bytes` - at `$.response`"),
        ("frames", "malformed: Expected `str | null`, got `int` - at `$.frames[0].intent`"),
        ("no state", "malformed: NoneType is no state"),
        ("state of list", "malformed: list is no state"),
        ("reason", "5"),
        ("surrogate reason", "\\ud800"),
        ("mute", "Mute: a Mute without words"),
        ("exit", "SystemExit: 0"),
        ("generator", "GeneratorExit: "),
        ("interrupt", "the worker process died"),
        ("die", "the worker process died"),
        ("hang", "it took too long"),
        ("another dialogue", "malformed: an answer to dialogue other, turn 99, which was not asked for now"),
    ],
)
def test_a_failing_turn_costs_only_itself(tmp_path: Path, suite: str, how: str, reason: str) -> None:
    corpus = sample("reminder", None, 3)
    bad = {(d.id, n) for d in corpus for n, turn in enumerate(d.turns) if sum(map(ord, turn.user)) % 11 == 0}
    assert bad
    engine = {"hang": Local(2, timeout=1.5), "die": Local(isolated=True), "interrupt": Local(isolated=True)}.get(
        how, Local()
    )
    tracker = Naughty(how, 11, well=str(tmp_path / "well"))
    run = evaluate(
        suite, tracker, corpus, tmp_path / "run", RunOptions(resamples=20, report=False, only=("typos",)), engine
    )
    failed = {
        (answer.dialogue, answer.turn): answer.failed for answer in run.variant(ORIGINAL).journal() if answer.failed
    }
    assert failed.keys() == bad and all(told.startswith(reason) for told in failed.values())
    assert run.scores.failed[ORIGINAL] == len(bad) and "count as wrong" in run.scores.notes[0]
    jga = run.scores.variants[ORIGINAL]["jga"]
    (tmp_path / "well").touch()
    again = evaluate(
        suite,
        tracker,
        corpus,
        tmp_path / "run",
        RunOptions(resamples=20, report=False, only=("typos",), resume=True),
        engine,
    )
    assert again.scores.failed == {} and again.scores.variants[ORIGINAL]["jga"].value > jga.value


@pytest.mark.slow
@pytest.mark.parametrize("how", ["usage nan", "usage text", "usage", "usage raises"])
def test_a_broken_count_costs_no_answer(tmp_path: Path, suite: str, how: str) -> None:
    options = RunOptions(resamples=20, report=False, only=("typos",))
    run = evaluate(suite, Naughty(how), sample("reminder", None, 3), tmp_path / "run", options)
    assert run.scores.failed == {} and set(run.scores.usage) == {"unreadable usage"}


class Inventive(Gold):
    """Right, but in one turn of each dialogue it names a slot that no schema has."""

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        states = [first_forms(context.gold.state) for context in contexts]
        return [{**s, "no-such": "x"} if c.turn == 0 else s for c, s in zip(contexts, states, strict=True)]


def test_an_unknown_slot_costs_that_slot_and_not_the_turn(tmp_path: Path, suite: str) -> None:
    corpus = sample("reminder", None, 3)
    run = evaluate(
        suite, Inventive(), corpus, tmp_path / "run", RunOptions(resamples=20, report=False, only=("typos",))
    )
    first = next(answer for answer in run.variant(ORIGINAL).journal() if answer.turn == 0)
    card, turns = run.scores.variants[ORIGINAL], sum(len(dialogue.turns) for dialogue in corpus)
    assert not first.failed and first.state["no-such"] == "x" and len(first.state) > 1
    assert run.scores.failed == {}
    assert card["jga"].value == (turns - 3) / turns
    values = sum(len(turn.state) for dialogue in corpus for turn in dialogue.turns)
    assert card["slot-f1"].value == pytest.approx(2 * values / (2 * values + 3), abs=1e-12)
    assert any(note.startswith("counted as wrong: 3 values of slots") for note in card.notes)


@pytest.mark.slow
def test_what_answers_cost_is_added_up_over_workers_and_resumes(tmp_path: Path, suite: str) -> None:
    tracker = Naughty("raise", 11, well=str(tmp_path / "well"))
    options = RunOptions(resamples=20, report=False, only=("typos",))
    run = evaluate(suite, tracker, REMINDER, tmp_path / "run", options, Local(2))
    turns = sum(len(dialogue.turns) for dialogue in REMINDER)
    changed = sum(turn.changed for dialogue in run.variant("typos").dialogues() for turn in dialogue.turns)
    # A turn that no stressor changed keeps the answer that it has; one without an answer is asked again.
    kinds = {(d.id, n): turn.changed for d in run.variant("typos").dialogues() for n, turn in enumerate(d.turns)}
    given = sum(not answer.failed for answer in run.variant(ORIGINAL).journal())
    given += sum(not one.failed and kinds[one.dialogue, one.turn] for one in run.variant("typos").journal())
    assert run.scores.usage == {"answers": given}
    assert "ValueError" in run.scores.notes[0]
    (tmp_path / "well").touch()
    again = evaluate(suite, tracker, REMINDER, tmp_path / "run", options._replace(resume=True), Local(2))
    assert again.scores.usage == {"answers": turns + changed}


def test_another_tracker_is_refused(tmp_path: Path, suite: str) -> None:
    evaluate(suite, "gold", REMINDER, tmp_path / "run", RunOptions(resamples=20, report=False))
    with pytest.raises(DstressError, match="the tracker has changed since the run began"):
        evaluate(suite, "empty", REMINDER, tmp_path / "run", RunOptions(resamples=20, report=False, resume=True))
    with pytest.raises(DstressError, match="there is a run already"):
        evaluate(suite, "gold", REMINDER, tmp_path / "run", RunOptions(resamples=20, report=False))
    with pytest.raises(DstressError, match="the run was begun with another seed"):
        evaluate(suite, "gold", REMINDER, tmp_path / "run", RunOptions(seed=2, resamples=20, report=False, resume=True))
    shorter = Corpus("reminder", "test", REMINDER.schema, lambda: iter(list(REMINDER)[:5]))
    with pytest.raises(DstressError, match="the corpus has changed since the run began"):
        evaluate(suite, "gold", shorter, tmp_path / "run", RunOptions(resamples=20, report=False, resume=True))


def test_another_schema_is_refused(tmp_path: Path, suite: str) -> None:
    options = RunOptions(resamples=20, report=False, only=("typos",))
    evaluate(suite, "gold", REMINDER, tmp_path / "run", options)
    fewer = Corpus("reminder", "test", Schema(REMINDER.schema.services[1:]), lambda: iter(REMINDER))
    with pytest.raises(DstressError, match="the schema has changed since the run began"):
        evaluate(suite, "gold", fewer, tmp_path / "run", options._replace(resume=True))


@pytest.mark.slow
@pytest.mark.parametrize("edited", ["own_words.toml", "own_helper.py", "own_parts.py"])
def test_what_a_component_stands_on_is_refused_when_it_changed(
    edited: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_words.toml").write_text('words = ["hm"]\n')
    (tmp_path / "own_helper.py").write_text("STATE = {}\n")
    (tmp_path / "own_parts.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("own_parts", "own_helper"):
        sys.modules.pop(name, None)
    suite = tmp_path / "own.toml"
    suite.write_text('title = "Own"\nmetrics = ["jga"]\nstressors = ["own_parts:Hm"]\n')
    options = RunOptions(resamples=20, report=False)
    evaluate(str(suite), "own_parts:Mine", REMINDER, tmp_path / "run", options)
    evaluate(str(suite), "own_parts:Mine", REMINDER, tmp_path / "run", options._replace(resume=True))
    with (tmp_path / edited).open("a") as file:
        file.write("# changed\n")
    with pytest.raises(DstressError, match="has changed since the run began"):
        evaluate(str(suite), "own_parts:Mine", REMINDER, tmp_path / "run", options._replace(resume=True))


def test_two_at_once_are_refused(tmp_path: Path, suite: str) -> None:
    run = evaluate(suite, "gold", REMINDER, tmp_path / "run", RunOptions(resamples=20, report=False))
    with hold_run(run.path), pytest.raises(DstressError, match="another process is at work on this run"):
        evaluate(suite, "gold", REMINDER, tmp_path / "run", RunOptions(resamples=20, report=False, resume=True))


def test_what_a_killed_process_was_writing_goes(tmp_path: Path) -> None:
    (tmp_path / "predictions").mkdir()
    for torn in (tmp_path / ".scores.json.x1.part", tmp_path / "predictions" / ".original.jsonl.x2.part"):
        torn.write_bytes(b"{")
    with hold_run(tmp_path):
        assert contents(tmp_path).keys() == {".lock"}


@pytest.mark.slow
def test_rescoring_asks_nobody(tmp_path: Path, suite: str) -> None:
    run = evaluate(
        suite, "tests.fakes.trackers:Logged", REMINDER, tmp_path / "run", RunOptions(resamples=20, report=False)
    )
    before = {name: data for name, data in contents(run.path).items() if "/" in name}
    again = rescore(RunFolder.open(run.path), "trade", ("jga", "aga"), 20)
    assert set(again.scores.variants[ORIGINAL].metrics) == {"jga", "aga"}
    assert again.scores.variants[ORIGINAL].signature["conv"] == "trade"
    assert {name: data for name, data in contents(run.path).items() if "/" in name} == before


def test_stressed_turns_follow_on_clean_answers(tmp_path: Path, suite: str) -> None:
    """A sequential tracker's answer to a turn that was stressed alone builds on its answer to the clean one before."""
    run = evaluate(
        suite,
        f"{LOGGED}(sequential=true)",
        REMINDER,
        tmp_path / "run",
        RunOptions(resamples=20, report=False),
    )
    original = {(a.dialogue, a.turn): a.state for a in run.variant(ORIGINAL).journal()}
    for answer in run.variant("typos").journal():
        if answer.turn:
            before = original[answer.dialogue, answer.turn - 1]
            assert {slot: answer.state.get(slot) for slot in before} == before


class Repeating(Gold):
    """Says what it was shown: the words before, and the words that it noted in its answer before."""

    sequential = True

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        return [
            {"history": "\n".join(said.user for said in one.history), "noted": "\n".join((*_noted(one), one.user))}
            for one in contexts
        ]


def _noted(context: Context) -> list[str]:
    return (context.previous or {}).get("noted", "").splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["typos(rate=0.5, scope=dialogue)", "typos(rate=0.5)"])
def test_errors_stay_in_the_history_if_the_scope_says_so(tmp_path: Path, spec: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(SUITE.replace("stressors = [", f"stressors = ['{spec}', "))
    run = evaluate(str(path), Repeating(), REMINDER, tmp_path / "run", RunOptions(resamples=20, report=False))
    originals = {dialogue.id: [turn.user for turn in dialogue.turns] for dialogue in REMINDER}
    stressed = {dialogue.id: [turn.user for turn in dialogue.turns] for dialogue in run.variant(spec).dialogues()}
    assert stressed != originals
    shown = stressed if "scope" in spec else originals
    for answer in run.variant(spec).journal():
        before, now = shown[answer.dialogue][: answer.turn], stressed[answer.dialogue][answer.turn]
        assert answer.state == {"history": "\n".join(before), "noted": "\n".join((*before, now))}


def test_progress_tells_the_stressor_and_ends_at_its_total(tmp_path: Path, suite: str) -> None:
    said: dict[str, tuple[int, int | None]] = {}
    options = RunOptions(resamples=20, report=False, on_progress=lambda what, *counts: said.update({what: counts}))
    run = evaluate(suite, "gold", REMINDER, tmp_path / "run", options)
    dialogues, variants = list(REMINDER), run.variants
    turns = sum(len(dialogue.turns) for dialogue in dialogues)
    for step, total in (("stressing", len(dialogues)), ("tracking", turns)):
        assert said.pop(f"{step}: original") == (total, total)
        numbers = {what.split(": ")[0] for what, counts in said.items() if counts == (total, total)}
        assert numbers == {f"{step}, stressor {n} of {len(variants) - 1}" for n in range(1, len(variants))}
    assert said["scoring"] == (0, None)


def test_a_whole_run_of_gold_is_perfect(tmp_path: Path, suite: str) -> None:
    scores = evaluate(suite, "gold", REMINDER, tmp_path / "run", RunOptions(resamples=20, report=False)).scores
    assert [cell.score.value for cell in scores.table if cell.score] == [1.0, 1.0]
    assert all(card["jga"].value == 1.0 for card in scores.variants.values())


def test_a_tracker_learns_which_split_is_for_training(tmp_path: Path, suite: str) -> None:
    class Curious(Gold):
        def prepare(self, resources: Resources) -> None:
            super().prepare(resources)
            trained.append(resources.train)

    trained: list[str] = []
    evaluate(suite, Curious(), "reminder:test", tmp_path / "run", limit=2, report=False, resamples=10)
    assert set(trained) == {"reminder:train"}


def test_single_stressed_turns_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """The answers to the words before them are known: a sequential tracker is asked for all of them at once."""
    asked: list[int] = []

    class Counting(Gold):
        sequential, batch = True, 512

        def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
            asked.append(len(contexts))
            return super().track(contexts)

    path = tmp_path / "typos.toml"
    path.write_text('title = "t"\nabout = "t"\nmetrics = ["jga"]\nstressors = ["typos(rate=0.5)"]\n')
    evaluate(str(path), Counting(), REMINDER, tmp_path / "run", RunOptions(resamples=20, report=False))
    longest = max(len(dialogue.turns) for dialogue in REMINDER)
    assert asked[0] == len(list(REMINDER)) and len(asked) == longest + 1
