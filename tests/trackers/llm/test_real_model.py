"""The `llm` tracker and a real model: SmolLM2 135M behind llama.cpp's server. Answers are read, not judged."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from dstress.dialogue import Dialogue, Turn
from dstress.trackers.base import Context
from dstress.trackers.llm.tracker import Llm
from tests.parts import need
from tests.paths import ROOT
from tests.trackers.serving import SCHEMA, resources

need("llama.cpp", "smollm2")

PAGE = (ROOT / "docs" / "trackers" / "llm.md").read_text("utf-8")
SERVE = re.findall(r"```python\n(import importlib.util.*?)```", PAGE, re.DOTALL)[0].replace("8012", "0")
SESSION = re.findall(r"^\$ python3 (examples/llm_tracker.py) \S+ (.*)\n((?:.*\n)*?)```", PAGE, re.MULTILINE)[0]
TOLD = Dialogue(
    "d1",
    (
        Turn("I need a hotel in the north with parking."),
        Turn("The Acorn, please, and a taxi there.", "There are the Acorn and the Swan."),
    ),
    ("hotel", "taxi"),
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-c", SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            lines = process.stdout or ()
            told = next((line for line in lines if line.startswith("listening ")), None)
            if told is None:
                pytest.fail("the server did not start")
            yield f"{told.split()[1]}/v1"
        finally:
            process.kill()


@pytest.mark.parametrize(("mode", "slots"), [("json", 30), ("json", 3), ("tools", 30)])
def test_every_answer_of_a_small_model_is_read(
    address: str, tmp_path: Path, mode: Literal["json", "tools"], slots: int
) -> None:
    tracker = Llm(address, "smollm2", mode, slots=slots, concurrency=1, timeout=300.0, retries=0)
    tracker.prepare(resources(tmp_path))
    answers = tracker.track([Context(TOLD, turn, SCHEMA) for turn in range(2)])
    usage = tracker.usage()
    tracker.close()
    assert all(isinstance(answer, dict) and answer.keys() <= SCHEMA.slots.keys() for answer in answers), answers
    # It had to stop by itself, however often it repeats its words.
    assert (usage["malformed"], usage["cut"], usage["lost_slots"]) == (0, 0, 0)
    # The chat template of SmolLM2 knows no tools, so that llama.cpp has nothing to hold it to: JSON is asked for.
    assert usage["uncalled"] == (2 if mode == "tools" else 0)
    assert usage["requests"] == (2 if (mode, slots) == ("json", 30) else 4)
    for answer in answers:
        for slot, value in answer.items():
            listed = SCHEMA.slots[slot].values if SCHEMA.slots[slot].categorical else ()
            assert not listed or value in (*listed, "dontcare")


def test_the_pages_session(address: str, tmp_path: Path) -> None:
    """But for what is left to the processor: which values the model fills in, and in how many tokens."""
    script, arguments, expected = SESSION
    answer = subprocess.run(
        [sys.executable, ROOT / script, address, *arguments.split()],
        env=os.environ | {"DSTRESS_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    (*found, used), (*shown, told) = (text.splitlines() for text in (answer.stdout, expected))
    assert [line for line in found if line[0] != " "] == [line for line in shown if line[0] != " "]
    assert all(isinstance(ast.literal_eval(line.strip()), dict) for line in found if line[0] == " ")
    usage, promised = ({**ast.literal_eval(line), "tokens_out": 0} for line in (used, told))
    assert usage == promised
