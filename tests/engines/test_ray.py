"""The Ray engine on real clusters: the same bytes as on one machine, also when workers and nodes are lost.

Each cluster lives in a process of its own, as it would for a user.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner

from dstress.cli.run import command
from dstress.engines.ray import Ray, end_orphans
from dstress.errors import DstressError
from tests.engines.test_local import Doubling
from tests.fakes.trackers import SUITE
from tests.parts import need
from tests.paths import SEARCHED

HEAD = """
import json, os, sys, threading, time
import ray
from ray.cluster_utils import Cluster
from dstress.engines import Local
from dstress.engines.ray import Ray, end_orphans
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import RunOptions
from tests.engines.test_local import Doubling
from tests.fakes.trackers import Logged
from tests.stressors.samples import sample
folder = sys.argv[1]
corpus = sample("reminder", None, 12)
def contents(name):
    root = os.path.join(folder, name)
    return {os.path.relpath(os.path.join(top, file), root): open(os.path.join(top, file), "rb").read()
            for top, _, files in os.walk(root) for file in files if file != "timing.json"}
def run(name, engine, pause=0.0):
    suite, out = os.path.join(folder, "small.toml"), os.path.join(folder, name)
    evaluate(suite, Logged("", pause), corpus, out, RunOptions(resamples=20, report=False), engine)
    return contents(name)
"""
PIECES = """
answers = sorted(Ray(workers=2).process(Doubling(), [b"1 2", b"3", b"4 die 5"]))
print(json.dumps([[number, answer.decode()] for number, answer in answers]))
"""
MISTAKE = """
from dstress.errors import DstressError
try:
    list(Ray(workers=1).process(Doubling(), [b"mistake"]))
except DstressError as error:
    print(json.dumps(str(error)))
"""
ROOM = """
import tempfile
from dstress.errors import DstressError
tempfile.tempdir = folder
try:
    list(Ray(gpus=1000).process(Doubling(), [b"1"]))
except DstressError as error:
    print(json.dumps([str(error), [name for name in os.listdir(folder) if name.startswith("ray")]]))
"""
KILLED = """
expected = run("local", Local())
ray.init(address="local", num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
from tests.fakes.processes import kill_actor_of
killed = []
def kill():
    while not kill_actor_of(os.getpid()):
        time.sleep(0.05)
    killed.append(True)
threading.Thread(target=kill, daemon=True).start()
print(json.dumps(run("ray", Ray(workers=2), 0.02) == expected and killed == [True]))
"""
NODES = """
expected = run("local", Local())
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
node = cluster.add_node(num_cpus=1)
ray.init(address=cluster.address, logging_level="error", log_to_driver=False)
def remove():
    time.sleep(3)
    cluster.remove_node(node, allow_graceful=False)
threading.Thread(target=remove, daemon=True).start()
print(json.dumps(run("ray", Ray(workers=2), 0.02) == expected))
"""


def answer(code: str, folder: Path) -> object:
    need("ray")
    (folder / "small.toml").write_text(SUITE)
    script = folder / "script.py"
    indented = "".join(f"    {line}\n" for line in code.strip().splitlines())
    script.write_text(f"{HEAD}\nif __name__ == '__main__':\n{indented}")
    environment = os.environ | {
        "PYTHONPATH": SEARCHED,
        "RAY_DEDUP_LOGS": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }
    done = subprocess.run(
        [sys.executable, str(script), str(folder)], capture_output=True, text=True, env=environment, timeout=240
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_only_what_kills_a_worker_is_lost(tmp_path: Path) -> None:
    found = answer(PIECES, tmp_path)
    assert found == [[0, "2 4"], [1, "6"], [2, "10"], [2, "8"], [2, "lost: the worker process died"]]


@pytest.mark.slow
def test_mistakes_come_through(tmp_path: Path) -> None:
    assert answer(MISTAKE, tmp_path) == "a person's mistake\n  fix: mend it"


@pytest.mark.slow
def test_what_no_machine_can_hold_is_refused_and_nothing_stays_behind() -> None:
    with TemporaryDirectory(dir="/tmp") as folder:  # Ray's sockets allow no long path
        told, left = answer(ROOM, Path(folder))  # type: ignore[misc]
    assert "no machine of the cluster has 1 processors and 1000 GPUs" in told and left == []


def test_nobody_at_the_address_is_a_message() -> None:
    need("ray")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        for spec in (address, f"ray://{address}"):
            with pytest.raises(DstressError, match="no Ray cluster answers at"):
                list(Ray(spec).process(Doubling(), [b"1"]))


def test_options_of_the_local_engine_are_refused() -> None:
    given = ["quick", "--tracker", "gold", "--corpus", "reminder:test", "--engine", "ray"]
    for option in (["--timeout", "5"], ["--workers", "2"]):
        shown = CliRunner().invoke(command, [*given, *option])
        assert shown.exit_code == 2 and "are of the local engine" in shown.output


@pytest.mark.slow
def test_a_killed_worker_changes_no_byte(tmp_path: Path) -> None:
    assert answer(KILLED, tmp_path) is True


@pytest.mark.slow
def test_a_lost_node_changes_no_byte(tmp_path: Path) -> None:
    assert answer(NODES, tmp_path) is True


def test_what_a_killed_run_left_is_ended_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its agents and its folder; those of a run that goes on stay."""
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    ended = subprocess.Popen(["true"])
    ended.wait()
    left, lives = (tmp_path / f"ray-dstress-{number}-x" for number in (ended.pid, os.getpid()))
    agents = []
    for folder in (left, lives):
        folder.mkdir()
        agents.append(
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", f"--log={folder}/agent.log"])
        )
    try:
        end_orphans()
        assert (agents[0].wait(10), agents[1].poll()) == (-9, None)
        assert (left.exists(), lives.exists()) == (False, True)
    finally:
        for agent in agents:
            agent.kill()
            agent.wait()
