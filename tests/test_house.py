"""What linters cannot see: names in documents, machine paths, the README's length. `make lint` holds the layers."""

from __future__ import annotations

import re
import tomllib
from functools import cache

import pytest

from tests.paths import DOCS, ROOT

# Written in two parts, so that this file passes its own rules.
MACHINE_PATH = re.compile(r"(?<![\w.~])/" + r"(?:work|home|farm|root)/")
INDEX_HOST = re.compile("py" + r"pi\.(?:org|python\.org)|python" + r"hosted\.org|--(?:extra-)?index" + "-url")
GROUPS = {"metrics", "generators", "translators"}
"""Entry points keep these names, though the folders have moved."""
PAGE = (DOCS / "architecture.md").read_text("utf-8")


@cache
def texts() -> dict[str, str]:
    """Every text of the repository, also without git."""
    folders = [ROOT / name for name in ("src", "tests", "docs", "examples", "benchmarks", "website", ".ci")]
    files = [*ROOT.glob("[!.]*.*"), ROOT / "Makefile", *(path for folder in folders for path in folder.rglob("*"))]
    kept = [path for path in files if path.is_file() and not {"__pycache__", "build"} & set(path.parts)]
    found = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in kept}
    return {name: data.decode("utf-8") for name, data in found.items() if b"\0" not in data}


@pytest.mark.parametrize("rule", [MACHINE_PATH, INDEX_HOST])
def test_no_text_names_a_machine(rule: re.Pattern[str]) -> None:
    assert len(texts()) > 1000
    assert [f"{name}: {match[0]}" for name, text in texts().items() for match in rule.finditer(text)] == []


@pytest.mark.parametrize("text", ["see\n/wo" + "rk/main", 'path = "/ho' + 'me/me/x"'])
def test_a_machine_path_is_found(text: str) -> None:
    assert MACHINE_PATH.search(text)
    assert not MACHINE_PATH.search(f"src{text[-10:]}, https://x.org/ho" + "me/, ./wo" + "rk/")


def test_the_readme_is_short_and_has_both_commands() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert readme.count("\n") < 150 and "make demo" in readme and "make test" in readme


def test_the_architecture_page_lists_the_layers() -> None:
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0][
        "layers"
    ]
    listed = re.search(r"^```\n(dialogue .*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert listed
    lines = [re.split(r"\s{2,}", line)[0].replace(" ", " : ") for line in listed[1].splitlines()]
    assert lines == layers[::-1]


def test_the_architecture_page_names_files_that_are_there() -> None:
    named = re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.py)`", PAGE)
    assert len(named) > 20
    missing = [name for name in named if not (ROOT / "src" / "dstress" / name).exists() and not (ROOT / name).exists()]
    assert missing == ["base.py"]


def test_documents_name_modules_that_are_there() -> None:
    """Every `dstress.module.name` in prose, code or comments can be imported."""
    named = re.compile(r"(?<![\w/.-])dstress((?:\.[a-zA-Z_]\w*)+)")
    missing = [
        f"{name}: dstress{path}"
        for name, text in texts().items()
        if name.startswith(("docs/", "src/", "examples/", "benchmarks/")) or name.endswith(".md")
        for path in named.findall(text)
        if path[1:] not in GROUPS and not is_there(path[1:].split("."))
    ]
    assert missing == []


def is_there(path: list[str]) -> bool:
    folder = ROOT / "src" / "dstress"
    for number, part in enumerate(path):
        if (folder / f"{part}.py").is_file():
            module = "".join(file.read_text("utf-8") for file in folder.glob(f"{part}.py*"))  # a door has a stub
            return all(re.search(rf"\b{name}\b", module) for name in path[number + 1 :])
        if not (folder / part).is_dir():
            return bool(
                re.search(rf"\b{part}\b", "".join(file.read_text("utf-8") for file in folder.glob("__init__.py*")))
            )
        folder /= part
    return True
