"""The `command` tracker with real programs that die, hang, babble and shout."""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dstress.dialogue import Dialogue, Schema, Turn
from dstress.errors import DstressError, SpecError
from dstress.trackers import Failed, create
from dstress.trackers.base import Answer, Context
from dstress.trackers.command import Command
from tests.trackers.serving import SCHEMA, contexts, dialogue, resources

START = """
import json, os, sys, time
from pathlib import Path
here = Path(__file__).parent
starts = int((here / "starts").read_text()) if (here / "starts").exists() else 0
(here / "starts").write_text(str(starts + 1))
(here / "pid").write_text(str(os.getpid()))
def answer(asked, **more):
    named = {"dialogue": context["dialogue"], "turn": context["turn"]}
    print(json.dumps(named | {"state": {"hotel-area": "north", "taxi-to": asked["user"]}} | more), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if "schema" in asked:
        schema = asked["schema"]
        continue
    context = asked
    turn = asked["turn"]
"""
"""A program that counts its starts; what follows says how it behaves."""

Make = Callable[..., Command]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Command] = []

    def program(behaviour: str, batch: int = 32, timeout: float = 20.0, **more: bool) -> Command:
        script = tmp_path / "tracker.py"
        script.write_text(START + "".join(f"    {line}\n" for line in behaviour.splitlines()))
        made.append(Command(f"{sys.executable} -S {script}", batch, timeout, **more))
        return made[-1]

    yield program
    for tracker in made:
        tracker.close()


def starts(folder: Path) -> int:
    return int((folder / "starts").read_text())


def right(count: int = 4) -> list[Answer]:
    return [{"hotel-area": "north", "taxi-to": f"turn {n} in the north"} for n in range(count)]


def but(at: int, failed: Answer, count: int = 4) -> list[Answer]:
    return [*right(count)[:at], failed, *right(count)[at + 1 :]]


def gone(folder: Path) -> bool:
    """Whether the program has ended."""
    pid = int((folder / "pid").read_text())
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_one_program_answers_all(make: Make, tmp_path: Path) -> None:
    tracker = make("answer(asked)", batch=3)
    assert tracker.track(contexts(8)) == right(8)
    assert tracker.track(contexts(2)) == right(2)
    assert starts(tmp_path) == 1
    assert tracker.usage() == {"starts": 1.0}
    assert tracker.usage() == {"starts": 0.0}
    tracker.close()
    assert gone(tmp_path)


def test_it_sees_the_schema_the_dialogue_and_its_previous_answer(make: Make) -> None:
    tracker = make(
        "seen = [len(schema['services']), len(asked['history']), asked['system'], sorted(asked['previous'])]\n"
        "answer({'user': json.dumps(seen)})",
        sequential=True,
    )
    [answer] = tracker.track([Context(dialogue(), 2, SCHEMA, {"taxi-to": "x"})])
    assert answer == {"hotel-area": "north", "taxi-to": '[2, 2, "reply 2", ["taxi-to"]]'}


def test_another_schema_is_told_to_the_same_program(make: Make, tmp_path: Path) -> None:
    tracker = make("answer({'user': str(len(schema['services']))})")
    one = Schema(SCHEMA.services[:1])
    answers = [answer for batch in (contexts(2), contexts(1, one), contexts(1)) for answer in tracker.track(batch)]
    assert [answer["taxi-to"] for answer in answers if isinstance(answer, dict)] == ["2", "2", "1", "2"]
    assert starts(tmp_path) == 1


def test_a_program_that_keeps_its_words_back_is_made_to_speak(make: Make) -> None:
    tracker = make("print(json.dumps({'dialogue': 'd1', 'turn': turn, 'state': {}}))")
    assert tracker.track(contexts(2)) == [{}, {}]


def test_long_lines_both_ways_do_not_lock(make: Make) -> None:
    tracker = make("sys.stderr.write('x' * 300_000)\nanswer(asked)")
    words = "word " * 100_000
    long = Dialogue("long", tuple(Turn(words) for _ in range(6)))
    answers = tracker.track([Context(long, turn, SCHEMA) for turn in range(6)])
    assert answers == [{"hotel-area": "north", "taxi-to": words}] * 6


def test_answers_before_reading_everything_do_not_lock(make: Make) -> None:
    tracker = make("answer({'user': 'y' * 200_000})")
    assert all(isinstance(answer, dict) for answer in tracker.track(contexts(40)))


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        ("raise ValueError('bad turn')", "died: the program ended with exit status 1; it says: ValueError: bad turn"),
        ("sys.exit(0)", "died: the program ended with exit status 0"),
        ("os.kill(os.getpid(), 9)", "died: the program was ended by SIGKILL"),
        ("os.close(1); time.sleep(9)", "died: the program closed its output"),
        ("time.sleep(9)", "timeout: no line in 1 seconds (is each one flushed?)"),
        ("print('Loading ...', flush=True)", "malformed: a line that is no JSON: 'Loading ...'"),
        ("print(b'\\xff', flush=True)", "malformed: a line that is no JSON"),
        ("print('[1]', flush=True)", "malformed: no answer: [1]"),
        ('print(\'{"level": "info"}\', flush=True); answer(asked)', "malformed: no answer: {'level': 'info'}"),
        ("answer(asked, turn=9)", "malformed: an answer to dialogue d1, turn 9, which was not asked for now"),
    ],
)
def test_a_turn_that_breaks_the_program_fails_alone(make: Make, tmp_path: Path, trouble: str, reason: str) -> None:
    patience = 1.0 if "no line" in reason else 20.0
    tracker = make(f"if turn == 2: {trouble}\nelse: answer(asked)", timeout=patience)
    answers = tracker.track(contexts(5))
    failed = answers[2]
    assert isinstance(failed, Failed)
    assert failed.reason.startswith(reason)
    assert answers == but(2, failed, 5)
    assert 3 <= starts(tmp_path) <= 4


def test_an_unreadable_answer_costs_no_restart(make: Make, tmp_path: Path) -> None:
    tracker = make("if turn == 1: answer(asked, state={'taxi-to': [[]]})\nelse: answer(asked)")
    assert tracker.track(contexts()) == but(1, Failed("malformed: the value of taxi-to is no text: [[]]"))
    assert starts(tmp_path) == 1


def test_a_program_that_fails_once_gets_another_chance(make: Make, tmp_path: Path) -> None:
    tracker = make("if turn == 2 and starts == 0: sys.exit(3)\nanswer(asked)")
    assert tracker.track(contexts()) == right()
    assert starts(tmp_path) == 2


def test_a_program_may_end_after_its_answers(make: Make, tmp_path: Path) -> None:
    tracker = make("answer(asked)\nif turn == 1: sys.exit()", batch=2)
    assert tracker.track(contexts(2)) == right(2)
    assert tracker.track(contexts(2)) == right(2)
    assert starts(tmp_path) == 2


def test_blank_lines_say_nothing(make: Make) -> None:
    tracker = make("print()\nanswer(asked)\nprint('  \\r', flush=True)", batch=2)
    assert tracker.track(contexts(5)) == right(5)


@pytest.mark.parametrize(
    ("trouble", "problem"),
    [
        ("sys.exit('no weights')", "has answered none of 3 turns; died: .* it says: no weights"),
        ("print('hello', flush=True)", "has answered none of 3 turns; malformed"),
    ],
)
def test_a_program_that_never_answers_stops_the_run(make: Make, trouble: str, problem: str) -> None:
    tracker = make(trouble)
    with pytest.raises(DstressError, match=problem) as caught:
        tracker.track(contexts(5))
    assert "try it by hand" in str(caught.value)


def test_a_line_that_comes_later_puts_all_before_it_in_doubt(make: Make, tmp_path: Path) -> None:
    tracker = make("answer(asked)\nif turn == 0:\n    time.sleep(0.1)\n    answer(asked)\n    (here / 'said').touch()")
    assert tracker.track(contexts(1)) == right(1)
    while not (tmp_path / "said").exists():
        time.sleep(0.01)
    with pytest.raises(DstressError, match="earlier answers may belong to other turns"):
        tracker.track(contexts(2)[1:])


def test_a_line_too_many_moves_no_answer(make: Make, tmp_path: Path) -> None:
    assert make("answer(asked)\nif turn == 2: answer(asked)").track(contexts(5)) == right(5)
    assert starts(tmp_path) == 2
    for answer, expected in zip(make("answer(asked); answer(asked)").track(contexts(5)), right(5), strict=True):
        assert answer == expected or (isinstance(answer, Failed) and answer.reason.startswith("too many lines"))


def test_lines_without_names_never_pass_for_another_turns_answers(make: Make, tmp_path: Path) -> None:
    nameless = "print(json.dumps({'state': {'hotel-area': 'south'}}), flush=True)"
    with pytest.raises(DstressError, match="without its dialogue and turn") as caught:
        make(nameless).track(contexts(3))
    assert "copy `dialogue` and `turn`" in str(caught.value) and starts(tmp_path) == 1
    answers = make(f"if turn == 1: {nameless}\nelse: answer(asked)").track(contexts(3))
    failed = answers[1]
    assert isinstance(failed, Failed) and failed.reason.startswith("an answer without its dialogue and turn")
    assert answers == but(1, failed, 3)


def test_what_a_program_has_started_ends_with_it(tmp_path: Path) -> None:
    script = tmp_path / "shell.sh"
    answer = '{"dialogue":"d1","turn":0,"state":{}}'
    script.write_text(
        f"sleep 60 & echo $! > {tmp_path}/pid; read schema\nwhile read line; do echo '{answer}'; done; wait"
    )
    tracker = Command(f"sh {script}")
    assert tracker.track(contexts(1)) == [{}]
    tracker.close()
    assert gone(tmp_path)


def test_it_travels_before_and_after_it_worked(make: Make) -> None:
    tracker = make("answer(asked)")
    assert tracker.track(contexts(1)) == right(1)
    again = pickle.loads(pickle.dumps(tracker))
    assert again.track(contexts(1)) == right(1)
    again.close()
    again.close()
    assert again.track(contexts(1)) == right(1)
    again.close()


def test_a_tracker_that_is_forgotten_leaves_no_program(make: Make, tmp_path: Path) -> None:
    tracker = make("answer(asked)")
    tracker.track(contexts(1))
    again = pickle.loads(pickle.dumps(tracker))
    again.track(contexts(1))
    del again
    assert gone(tmp_path)


def test_its_fingerprint_is_the_command_and_its_files(tmp_path: Path) -> None:
    script, config = tmp_path / "a.py", tmp_path / "c.json"
    script.write_text("1")
    config.write_text("1")
    text = f'command("python3 {script} --config={config}")'
    found = [create(text).fingerprint()]
    assert create(text.replace(")", ", timeout=1, batch=2)")).fingerprint() == found[0]
    script.write_text("2")
    found.append(create(text).fingerprint())
    config.write_text("2")
    found.append(create(text).fingerprint())
    found.append(create(text.replace(")", ", version=2b)")).fingerprint())
    found.append(create(text.replace(")", ", sequential=true)")).fingerprint())
    found.append(create(text.replace("python3", "python3 -O")).fingerprint())
    assert len(set(found)) == 6


def test_a_program_that_is_not_there_is_told_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(DstressError, match="there is no program 'no-such-program'"):
        create('command("no-such-program --fast")').prepare(resources(tmp_path))
    plain = tmp_path / "plain"
    plain.write_text("not a program")
    plain.chmod(0o755)
    tracker = create(f'command("{plain}")')
    tracker.prepare(resources(tmp_path))
    with pytest.raises(DstressError, match="cannot be started"):
        tracker.track(contexts(1))


@pytest.mark.parametrize("text", ['command("")', 'command("a \'b")', "command(a, batch=0)", "command(a, timeout=0)"])
def test_what_cannot_work_is_refused_at_once(text: str) -> None:
    with pytest.raises(SpecError):
        create(text)
