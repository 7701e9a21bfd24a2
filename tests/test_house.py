"""The house keeps its own rules, and every rule can be broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pytest

from tests import house_rules as rules
from tests.paths import ROOT


@cache
def house() -> list[rules.Module]:
    return rules.read_package(ROOT / "src" / "dstress")


@pytest.mark.parametrize("rule", rules.MODULE_RULES)
def test_the_modules_keep(rule: Callable[[Iterable[rules.Module]], rules.Complaints]) -> None:
    assert list(rule(house())) == []


@pytest.mark.parametrize("rule", rules.TEXT_RULES)
def test_the_texts_keep(rule: Callable[[dict[str, str]], rules.Complaints]) -> None:
    assert list(rule(rules.read_texts(ROOT))) == []


def test_the_rules_see_the_whole_house() -> None:
    names = {module.name for module in house()}
    assert {"dstress", "dstress.dialogue", "dstress.corpora", "dstress.corpora.base", "dstress.cli"} <= names
    edges = {module.name: rules.imports(module, names) for module in house()}
    assert {"dstress.errors", "dstress.spec"} <= edges["dstress.registry"]
    assert {"src/dstress/spec.py", "Makefile", ".ci/run", "tests/house_rules.py"} <= set(rules.read_texts(ROOT))


def small_house(**imports: str) -> list[rules.Module]:
    """A house with every kind of module; keywords add an import to one of them (`__` for a dot)."""
    names = ["dialogue", "errors", "spec", "alignment", "evaluation", "runs", "corpora.base", "corpora.sgd"]
    names += ["metrics.base", "metrics.joint", "reports.html", "leaderboard.app", "engines.local", "cli.main"]
    packages = ["", ".corpora", ".metrics", ".reports", ".leaderboard", ".engines", ".cli"]
    lines = {name.replace("__", "."): line for name, line in imports.items()}
    modules = [rules.module(f"dstress{name}", lines.get(f"{name[1:]}.door", ""), is_package=True) for name in packages]
    return modules + [rules.module(f"dstress.{name}", lines.get(name, "")) for name in names]


@pytest.mark.parametrize(
    ("where", "line", "problem"),
    [
        ("dialogue", "import dstress.spec", "a foundation imports nothing"),
        ("errors", "from dstress.dialogue import State", "a foundation imports nothing"),
        ("spec", "from dstress.corpora.base import Corpus", "points up"),
        ("spec", "def f():\n    from dstress.pipeline.evaluate import run", "points up"),
        ("spec", "from dstress import errors, load", "own door"),
        ("alignment", "from dstress.corpora.sgd import Sgd", "only through its base"),
        ("metrics__joint", "from dstress.corpora import sgd", "only through its base"),
        ("metrics__joint", "from dstress.corpora import load", "only through its base"),
        ("metrics__joint", "from ..corpora.sgd import Sgd", "only through its base"),
        ("metrics__door", "from .. import evaluation", "points up"),
        ("metrics__joint", "import dstress.runs.folder", "points up"),
        ("metrics__joint", "from dstress.engines.local import Local", "points up"),
        ("reports__html", "from dstress.metrics.base import Metric", "knows only runs and the scorecard"),
        ("reports__html", "import dstress.pipeline.evaluate", "knows only runs and the scorecard"),
        ("leaderboard__app", "from dstress.engines import local", "knows only runs and the scorecard"),
        ("evaluation", "from dstress.cli.main import main", "nothing imports the command line"),
        ("spec", "if TYPE_CHECKING:\n    import dstress.cli", "nothing imports the command line"),
    ],
)
def test_a_wrong_arrow_is_found(where: str, line: str, problem: str) -> None:
    [complaint] = rules.arrows(small_house(**{where: line}))
    assert problem in complaint


@pytest.mark.parametrize(
    ("where", "line"),
    [
        ("spec", "from dstress.errors import SpecError"),
        ("spec", "from dstress import errors"),
        ("alignment", "from dstress.metrics.base import Metric"),
        ("metrics__joint", "from dstress.corpora.base import Corpus"),
        ("metrics__joint", "from dstress.corpora import base"),
        ("corpora__door", "from .sgd import Sgd"),
        ("metrics__joint", "TARGET = 'dstress.corpora.sgd:Sgd'"),
        ("reports__html", "from dstress.runs.folder import Run"),
        ("evaluation", "from dstress.corpora import load"),
        ("engines__local", "import dstress.runs.folder"),
        ("cli__main", "import dstress.pipeline.evaluate"),
    ],
)
def test_a_right_arrow_is_fine(where: str, line: str) -> None:
    assert list(rules.arrows(small_house(**{where: line}))) == []


def test_a_cycle_is_found() -> None:
    modules = small_house(corpora__base="from dstress.corpora.sgd import X", corpora__sgd="from .base import Y")
    [complaint] = rules.cycles(modules)
    assert "dstress.corpora.base" in complaint
    assert "dstress.corpora.sgd" in complaint


LONG = "def f():\n" + "    x = 1\n" * 60
BAD = [
    (rules.sizes, "x = 1\n" * 501, "501 lines; 500 at most"),
    (rules.sizes, LONG, "f has 61 lines; 60 at most"),
    (rules.sizes, f"class A:\n    async {LONG}".replace("\n    x", "\n        x"), "f has 61 lines"),
    (rules.sizes, "def f(a, b, /, c, d, *, e, f, g): ...", "f has 7 parameters; 6 at most"),
    (rules.asserts, "def f(x):\n    assert x", ":2 asserts"),
    (rules.docstrings, "x = 1", "dstress.some has no docstring"),
    (rules.docstrings, '"""Doc."""\nclass A: ...', ":2 A has no docstring"),
    (rules.docstrings, '"""Doc."""\nasync def f(): ...', ":2 f has no docstring"),
]


@pytest.mark.parametrize(("rule", "text", "problem"), BAD)
def test_a_bad_module_is_found(
    rule: Callable[[Iterable[rules.Module]], rules.Complaints], text: str, problem: str
) -> None:
    [complaint] = rule([rules.module("dstress.some", text)])
    assert problem in complaint


GOOD = [
    "def f():\n" + "    x = 1\n" * 59,
    "class A:\n    def f(self, a, b, c, d, e, f): ...",
    "class A:\n    @classmethod\n    def f(cls, a, b, c, d, e, f, *args, **options): ...",
    "x = 1\n" * 500,
]


@pytest.mark.parametrize("text", GOOD)
def test_the_maxima_themselves_are_fine(text: str) -> None:
    assert list(rules.sizes([rules.module("dstress.some", text)])) == []


@pytest.mark.parametrize("name", ["dstress.utils", "dstress.corpora._helpers", "dstress.common.x"])
def test_a_vague_name_is_found(name: str) -> None:
    assert len(list(rules.vague_names([rules.module(name, "")]))) == 1


@pytest.mark.parametrize(
    ("rule", "name", "text", "problem"),
    [
        (rules.machine_paths, "a.md", "see\n/wo" + "rk/main", "a.md:2"),
        (rules.machine_paths, "a.toml", 'path = "/ho' + 'me/me/x"', "a.toml:1"),
        (rules.index_hosts, "Makefile", "pip install -i https://py" + "pi.org/simple", "a package index"),
        (rules.index_hosts, "a.txt", "--extra-index" + "-url x", "a package index"),
        (rules.readme, "README.md", "make demo", "`make test`"),
        (rules.readme, "README.md", "make test", "`make demo`"),
        (rules.readme, "README.md", "make demo, make test\n" * 151, "151 lines"),
    ],
)
def test_a_bad_text_is_found(
    rule: Callable[[dict[str, str]], rules.Complaints], name: str, text: str, problem: str
) -> None:
    [complaint] = rule({name: text})
    assert problem in complaint


def test_a_relative_path_or_an_address_is_no_machine_path() -> None:
    assert list(rules.machine_paths({"a.md": "src/wo" + "rk/x, https://x.org/ho" + "me/, ./wo" + "rk/"})) == []


def test_texts_leave_out_what_tools_leave_behind(tmp_path: Path) -> None:
    for name in ["src/a.py", ".venv/x.py", "runs/y.txt", "src/__pycache__/z.pyc", ".ci/run"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "binary").write_bytes(b"\0")
    assert set(rules.read_texts(tmp_path)) == {"src/a.py", ".ci/run"}
