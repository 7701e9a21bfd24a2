"""The house keeps its own rules, and every rule can be broken."""

from __future__ import annotations

import re
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


def test_folders_import_only_from_those_above_them() -> None:
    layers = rules.read_layers((ROOT / "docs" / "architecture.md").read_text("utf-8"))
    assert list(rules.arrows(house(), layers)) == []
    listed = {name for layer in layers for name in layer}
    assert listed == {module.place for module in house()} - {"", "__main__", "_version"}


def test_the_architecture_page_names_files_that_are_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    named = re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.py)`", page)
    assert len(named) > 20
    missing = [name for name in named if not (ROOT / "src" / "dstress" / name).exists() and not (ROOT / name).exists()]
    assert missing == ["base.py"]


def test_documents_name_modules_that_are_there() -> None:
    """Every `dstress.module.name` in prose, code or comments can be imported."""
    named = re.compile(r"(?<![\w/.-])dstress((?:\.[a-zA-Z_]\w*)+)")
    missing = []
    for name, text in rules.read_texts(ROOT).items():
        if name.startswith(("docs/", "src/", "examples/", "benchmarks/")) or name.endswith(".md"):
            missing += [f"{name}: dstress{path}" for path in named.findall(text) if not _is_there(path[1:].split("."))]
    assert missing == []


def _is_there(path: list[str]) -> bool:
    folder = ROOT / "src" / "dstress"
    for number, part in enumerate(path):
        if (folder / f"{part}.py").is_file():
            module = (folder / f"{part}.py").read_text("utf-8")
            return all(re.search(rf"\b{name}\b", module) for name in path[number + 1 :])
        if not (folder / part).is_dir():
            return bool(re.search(rf"\b{part}\b", (folder / "__init__.py").read_text("utf-8")))
        folder /= part
    return True


def test_the_rules_see_the_whole_house() -> None:
    names = {module.name for module in house()}
    assert {"dstress", "dstress.dialogue", "dstress.corpora", "dstress.corpora.base", "dstress.cli"} <= names
    edges = {module.name: rules.imports(module, names) for module in house()}
    assert {"dstress.errors", "dstress.spec"} <= edges["dstress.registry"]
    assert {"src/dstress/spec.py", "Makefile", ".ci/run", "tests/house_rules.py"} <= set(rules.read_texts(ROOT))


LAYERS = [["dialogue", "errors", "spec"], ["storage"], ["corpora"], ["metrics"], ["cli"]]


def small_house(**imports: str) -> list[rules.Module]:
    """A house with a few layers; keywords add an import to one of its modules (`__` for a dot)."""
    names = ["dialogue", "errors", "spec", "storage.lock", "corpora.base", "corpora.sgd", "metrics.joint", "cli.main"]
    lines = {name.replace("__", "."): line for name, line in imports.items()}
    modules = [
        rules.module(f"dstress{name}", lines.get(f"{name[1:]}.door", ""), is_package=True)
        for name in ("", ".storage", ".corpora", ".metrics", ".cli")
    ]
    return modules + [rules.module(f"dstress.{name}", lines.get(name, "")) for name in names]


@pytest.mark.parametrize(
    ("where", "line", "problem"),
    [
        ("errors", "from dstress.storage.lock import Lock", "imports no folder"),
        ("spec", "def f():\n    from dstress.cli.main import main", "imports no folder"),
        ("spec", "if TYPE_CHECKING:\n    import dstress.cli", "imports no folder"),
        ("storage__lock", "from dstress.corpora.base import Corpus", "corpora is not above storage"),
        ("storage__lock", "from dstress import errors, load", "own door"),
        ("corpora__sgd", "from dstress.metrics import joint", "metrics is not above corpora"),
        ("corpora__sgd", "from ..metrics.joint import Jga", "metrics is not above corpora"),
        ("corpora__door", "from .. import cli", "cli is not above corpora"),
    ],
)
def test_a_wrong_arrow_is_found(where: str, line: str, problem: str) -> None:
    [complaint] = rules.arrows(small_house(**{where: line}), LAYERS)
    assert problem in complaint


@pytest.mark.parametrize(
    ("where", "line"),
    [
        ("spec", "from dstress.errors import SpecError"),
        ("spec", "from dstress import errors"),
        ("metrics__joint", "from dstress.corpora import base"),
        ("metrics__joint", "from ..corpora.sgd import Sgd"),
        ("corpora__door", "from .sgd import Sgd"),
        ("storage__lock", "TARGET = 'dstress.corpora.sgd:Sgd'"),
        ("cli__main", "import dstress.metrics.joint"),
    ],
)
def test_a_right_arrow_is_fine(where: str, line: str) -> None:
    assert list(rules.arrows(small_house(**{where: line}), LAYERS)) == []


def test_a_folder_that_the_page_does_not_have_is_found() -> None:
    [complaint, *_] = rules.arrows([rules.module("dstress.attic.box", "")], LAYERS)
    assert "no layer attic" in complaint


def test_a_crowd_at_the_top_is_found() -> None:
    [complaint] = rules.top([rules.module(f"dstress.m{number}", "") for number in range(10)])
    assert "10 modules at the top; 9 at most" in complaint


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
    "class A:\n    def __init__(self, a, b, c, d, e, f, g): ...",
    "@click.command('x')\ndef command(a, b, c, d, e, f, g): ...",
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
