"""What dstress gives for fixed inputs, so that a change of structure can be seen to change nothing else.

    python -m benchmarks.snapshot            compare with benchmarks/snapshot.json; exit code 1 where anything differs
    python -m benchmarks.snapshot --write    store what comes out now
    python -m benchmarks.snapshot stress     only the entries whose names start so

Entries are hashes of each stressor's output on `reminder` and on the corpora beside the repository, `score
--conventions all` on real predictions, and `scores.json` of each suite with `rules`. Everything goes through
the command line, which is the contract that stays. Imported corpora are kept in `build/snapshot`, or where
DSTRESS_HOME points. `tests/test_snapshot.py` compares in the slow tier.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from benchmarks.timing import SHARED

STORED = Path(__file__).with_name("snapshot.json")
CORPORA = {
    "mwz21-trade": [f"multiwoz21-trade/{split}_dials.json.zip" for split in ("train", "dev", "test")],
    "sgd": ["sgd/dev.tar.xz", "sgd/test.tar.xz"],
    "sgd-x": ["sgd/sgd_x.tar.xz"],
}
STRESSED = ("reminder", "mwz21-trade", "sgd")
SPECS = (
    *("typos", "typos(rate=0.3, values=true)", "word_noise", "verbosity", "simplification", "disfluency"),
    *("paraphrase", "speech_text", "entities", "unseen_entities", "values", "values(dictionary=I)", "out_of_domain"),
    *("out_of_domain(mode=segment)", "schema_variant", "schema_noise", "schema_backtranslation", "counterfactual"),
    *("counterfactual(values=I, combinations=freq, fallback=values)", "entities+typos", "disfluency+word_noise"),
)
SUITES = {"quick": 40, "full": 10, "checkdst": 20, "gca": 40, "raddle": 10, "coco": 8, "sgd-x": 15}
PREDICTIONS = ("copy-a-test", "copy-b-test", "copy-c-test", "copy-b-substituted", "copy-a-substituted_clean")


def call(*arguments: str) -> tuple[int, str]:
    """One command: its exit code, and its output or the first line of its complaint."""
    from dstress.cli.main import main

    runner = CliRunner()
    with runner.isolation() as (out, err, *_):
        try:
            main(list(arguments))
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        shown = out.getvalue().decode()
        complaint = err.getvalue().decode().strip() or shown
    return code, shown if code == 0 else complaint.splitlines()[0]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def stressed(corpus: str, spec: str, limit: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        code, said = call("stress", f"{corpus}:test", "--with", spec, "--limit", str(limit), "--out", folder)
        if code:
            return said
        return digest(b"".join(path.read_bytes() for path in sorted(Path(folder).rglob("*.jsonl"))))


def scored(name: str) -> dict[str, Any]:
    path = str(SHARED / "data" / "predictions" / f"{name}.json.zip")
    code, said = call("score", path, "--conventions", "all", "--metrics", "all", "--json", "-")
    return values(json.loads(said)) if code == 0 else {"error": said}


def run(suite: str, corpus: str, tracker: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        where = f"{folder}/run"
        limit = ["--limit", str(SUITES[suite])]
        code, said = call("run", suite, "--tracker", tracker, "--corpus", f"{corpus}:test", "--out", where, *limit)
        return values(json.loads(Path(where, "scores.json").read_bytes())) if code == 0 else {"error": said}


def values(found: Any, name: str = "") -> dict[str, Any]:
    """The values of a JSON report by their paths; all that stands beside them (intervals, slices) as one hash."""
    figures: dict[str, Any] = {}

    def walk(part: Any, path: str) -> None:
        if isinstance(part, dict) and isinstance(part.get("value"), float):
            figures[path] = part["value"]
        elif isinstance(part, dict):
            for key, inside in part.items():
                if key not in {"slices", "slots"}:
                    walk(inside, f"{path}/{key}".lstrip("/"))

    walk(found, name)
    return figures | {"all of it": digest(json.dumps(rounded(found), sort_keys=True).encode())}


def rounded(part: Any) -> Any:
    """The same with nine digits: the last ones of a resampled interval depend on the number of BLAS's threads."""
    if isinstance(part, dict):
        return {key: rounded(inside) for key, inside in part.items()}
    if isinstance(part, list):
        return [rounded(inside) for inside in part]
    return float(f"{part:.9g}") if isinstance(part, float) else part


def entries() -> Iterator[tuple[str, Callable[[], Any]]]:
    for corpus in STRESSED:
        for spec in SPECS:
            limit = 8 if spec.startswith("counterfactual") else 25
            yield f"stress/{corpus}/{spec}", partial(stressed, corpus, spec, limit)
    yield "stress/reminder/speech", partial(stressed, "reminder", "speech(snr=20)", 2)
    for name in PREDICTIONS:
        yield f"score/{name}", partial(scored, name)
    for suite in SUITES:
        corpus = "sgd" if suite == "sgd-x" else "reminder"
        for tracker in ("rules", "empty") if suite == "quick" else ("rules",):
            yield f"run/{suite}/{corpus}/{tracker}", partial(run, suite, corpus, tracker)


def import_corpora() -> None:
    os.environ.setdefault("DSTRESS_HOME", str(Path("build/snapshot").resolve()))
    for name, files in CORPORA.items():
        if call("corpora", "show", "sgd-x/v1" if name == "sgd-x" else name)[0]:
            code, said = call("corpora", "add", name, *(str(SHARED / "data" / file) for file in files))
            if code:
                sys.exit(said)


def differences(before: Any, after: Any, path: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from differences(before.get(key), after.get(key), f"{path}: {key}")
    elif before != after:
        yield f"{path}: {before} -> {after}"


def main() -> int:
    wanted = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    import_corpora()
    found = {}
    for name, work in entries():
        if not wanted or any(name.startswith(start) for start in wanted):
            found[name] = work()
            changed = list(differences(stored.get(name), found[name], name))
            print("\n".join(changed[:20]) or f"{name}: as stored", flush=True)
    if "--write" in sys.argv:
        STORED.write_text(json.dumps((stored if wanted else {}) | found, indent=1, sort_keys=True) + "\n")
        return 0
    return int(any(stored.get(name) != value for name, value in found.items()))


if __name__ == "__main__":
    sys.exit(main())
