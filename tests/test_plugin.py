"""The proof that anyone can add a component: a real package, really installed, adds one of every kind.

The plug-in is installed by pip into a virtual environment of its own, which sees the packages of this one. Nothing is
fetched: no index, no dependencies, no build environment.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import subprocess
import sysconfig
import venv
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import dstress
from dstress.registry import Registry

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
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    done = subprocess.run([python, "-m", "pip", "install", *offline, package], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return python


def test_every_kind_is_found() -> None:
    assert set(registries()) >= KINDS


def test_every_kind_takes_a_plug_in(python: Path) -> None:
    done = subprocess.run([python, "-c", ASK, json.dumps(registries())], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    for kind in registries():
        names, summary, module, level = answers[kind]
        assert names == sorted([*registry(kind), "plugged"])
        assert (summary, module, level) == (f"A {kind} from outside.", "dstress_plugged", 3)


def test_the_plug_in_is_not_installed_here() -> None:
    assert not any("plugged" in registry(kind) for kind in registries())


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_built_in_can_be_imported_and_described(kind: str) -> None:
    found = registry(kind)
    for name in found:
        assert not inspect.isabstract(found.get(name))
        assert found.summary(name).endswith(".")
