"""The proof that anyone can add a component: a real package, really installed, adds one of every kind.

The plug-in is installed by pip into a virtual environment of its own, which sees the packages of this one. Nothing is
fetched: no index, no dependencies, no build environment.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import pkgutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import dstress
from dstress.registry import Registry
from tests.paths import ROOT

OFFLINE = ["--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
"""What keeps pip from fetching anything."""
KINDS = {"format", "convention", "importer", "metric", "stressor", "translator"}
"""Kinds that must be there. A new room adds its kind here; its registry is found by itself."""

PROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "dstress-plugged"
version = "1.0"

[tool.setuptools]
py-modules = ["dstress_plugged"]
"""
ENTRY_POINT = """
[project.entry-points."dstress.{kind}s"]
plugged = "dstress_plugged:Plugged{title}"
"""
COMPONENT = '''
from {module} import {contract}

class Plugged{title}({contract}):
    """A {kind} from outside."""

    name = "plugged"

    def __init__(self, level: int = 1) -> None:
        self.level = level

{methods}
'''
METHOD = "    def {name}(self, *args, **options):\n        raise RuntimeError\n"
ASK = """
import importlib, json, sys
answers = {}
for kind, (door, attribute) in json.loads(sys.argv[1]).items():
    registry = getattr(importlib.import_module(door), attribute)
    made = registry.create("plugged(level=3)")
    answers[kind] = [list(registry), registry.summary("plugged"), type(made).__module__, made.level]
print(json.dumps(answers))
"""


@cache
def registries() -> dict[str, tuple[str, str]]:
    """Kind -> the door and the name of its registry, for every room that has one."""
    found = {}
    for info in pkgutil.walk_packages(dstress.__path__, "dstress."):
        if info.ispkg:
            for name, value in vars(importlib.import_module(info.name)).items():
                if isinstance(value, Registry):
                    found[value.kind] = (info.name, name)
    return found


def registry(kind: str) -> Registry[Any]:
    door, name = registries()[kind]
    found = getattr(importlib.import_module(door), name)
    assert isinstance(found, Registry)
    return found


def component(kind: str) -> str:
    """The source of a component that honours the kind's contract with the least."""
    contract = registry(kind).contract
    methods = "".join(METHOD.format(name=name) for name in sorted(getattr(contract, "__abstractmethods__", ())))
    words = {
        "kind": kind,
        "title": kind.title().replace("_", ""),
        "module": contract.__module__,
        "contract": contract.__qualname__,
    }
    return COMPONENT.format(methods=methods, **words)


def write_package(folder: Path) -> Path:
    folder.mkdir()
    points = "".join(ENTRY_POINT.format(kind=kind, title=kind.title().replace("_", "")) for kind in registries())
    (folder / "pyproject.toml").write_text(PROJECT + points)
    (folder / "dstress_plugged.py").write_text("".join(map(component, registries())))
    return folder


def make_environment(folder: Path) -> Path:
    """A virtual environment that sees this one's packages, dstress among them; the path of its Python."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(subprocess.check_output([python, "-c", ask], text=True).strip())
    ours = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site / "ours.pth").write_text("".join(f"import site; site.addsitedir({path!r})\n" for path in sorted(ours)))
    return python


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment in which the plug-in is installed."""
    folder = tmp_path_factory.mktemp("plugin")
    package, python = write_package(folder / "package"), make_environment(folder / "venv")
    done = subprocess.run([python, "-m", "pip", "install", *OFFLINE, package], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return python


def test_every_kind_is_found() -> None:
    assert set(registries()) >= KINDS


@pytest.mark.slow
def test_every_kind_takes_a_plug_in(python: Path) -> None:
    done = subprocess.run([python, "-c", ASK, json.dumps(registries())], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    for kind in registries():
        names, summary, module, level = answers[kind]
        assert names == sorted([*registry(kind), "plugged"])
        assert (summary, module, level) == (f"A {kind} from outside.", "dstress_plugged", 3)


BROKEN = """
[dstress.conventions]
shaky = shaky_parts:Shaky

[dstress.formats]
shaky = shaky_parts:Shaky

[dstress.importers]
shaky = shaky_parts:Shaky

[dstress.metrics]
shaky = shaky_parts:Shaky
sturdy = sturdy_parts:Sturdy
"""
STURDY = """
from dstress.scoring.metrics.joint import Jga

class Sturdy(Jga):
    'A metric that works.'

    name = "sturdy"
"""


@pytest.fixture
def beside_broken(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs dstress where a distribution is installed whose module raises; another of its modules does not."""
    site = tmp_path / "site"
    info = site / "shaky-2.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shaky\nVersion: 2.1\n")
    (info / "entry_points.txt").write_text(BROKEN)
    (site / "shaky_parts.py").write_text("raise ImportError('libshaky.so is not here')\n")
    (site / "sturdy_parts.py").write_text(STURDY)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), *sys.path])}

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "dstress", *arguments]
        return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)

    return call


def test_a_broken_plug_in_is_named_where_it_is_listed(
    beside_broken: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = beside_broken("list", "metrics", "--json")
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)
    assert listed["sturdy"] == "A metric that works." and listed["jga"]
    said = "broken: the metric 'shaky' of the plug-in shaky 2.1 is broken: cannot import the metric "
    assert listed["shaky"] == f"{said}'shaky_parts:Shaky': ImportError: libshaky.so is not here"


def test_a_broken_plug_in_that_is_asked_for_is_one_clear_error(
    beside_broken: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = beside_broken("score", "docs/example.json", "--convention", "shaky")
    assert done.returncode == 2 and done.stdout == "" and "Traceback" not in done.stderr
    assert "the plug-in shaky 2.1 is broken" in done.stderr and "libshaky.so is not here" in done.stderr
    assert "`shaky = shaky_parts:Shaky` in dstress.conventions" in done.stderr


@pytest.mark.slow
def test_a_broken_plug_in_stops_nobody_else(beside_broken: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = beside_broken("score", "docs/example.json", "--conventions", "all", "--metrics", "all", "--json")
    assert done.returncode == 0, done.stderr
    cards = json.loads(done.stdout)["conventions"]
    assert "exact" in cards and "shaky" not in cards
    assert {"jga", "sturdy"} <= set(cards["exact"]["metrics"])
    assert "warning: the convention 'shaky' of the plug-in shaky 2.1 is broken" in done.stderr


def test_the_plug_in_is_not_installed_here() -> None:
    assert not any("plugged" in registry(kind) for kind in registries())


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_built_in_can_be_imported_and_described(kind: str) -> None:
    found = registry(kind)
    for name in found:
        assert not inspect.isabstract(found.get(name))
        assert found.summary(name).endswith(".")
