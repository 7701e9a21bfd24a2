"""`import dstress` is fast, and reaches for nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys
import time

HEAVY = {"numpy", "httpx", "rich", "click", "torch", "transformers", "altair", "sacrebleu", "ray", "fastapi"}
CODE = "import json, sys; import dstress; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"


def seconds(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def test_the_door_imports_nothing_heavy() -> None:
    out = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True).stdout
    loaded = set(json.loads(out))
    assert "dstress" in loaded
    assert not HEAVY & loaded


def test_the_door_opens_in_a_third_of_a_second() -> None:
    plain = min(seconds("pass") for _ in range(5))
    door = min(seconds("import dstress") for _ in range(5))
    assert door - plain < 0.3
