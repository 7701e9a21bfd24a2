"""Every stressor has its page, the index says of each what its class says, and the index's examples are run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from dstress.cli.main import cli
from dstress.pipeline.stress import stress
from dstress.stressors import stressors
from dstress.stressors.base import Rewriter, SchemaStressor
from tests.paths import DOCS
from tests.stressors.samples import sample

FOLDER = DOCS / "stressors"
INDEX = (FOLDER / "README.md").read_text(encoding="utf-8")
ROWS = {row[0]: row for row in re.findall(r"^\| \[(\w+)\]\((\S+?)\) \| .+? \| (.+?) \| (\w+) \| ", INDEX, re.MULTILINE)}
CONSOLE = re.findall(r"^\$ dstress (.+)\n((?:.*\n)*?)```", INDEX, re.MULTILINE)
OWN = re.search(r"```python\n(from dstress import Rewriter.*?)```", INDEX, re.DOTALL)


def test_the_index_lists_every_stressor() -> None:
    assert sorted(ROWS) == sorted(stressors)


@pytest.mark.parametrize("name", sorted(stressors))
def test_the_index_says_what_the_class_says(name: str) -> None:
    _, page, label, scope = ROWS[name]
    made = stressors.create(name)
    assert page == f"{name}.md" and (FOLDER / page).is_file()
    assert scope == made.scope
    assert ("not guarded" in label) is not made.guarded
    assert label.startswith("names only" if isinstance(made, SchemaStressor) else made.effect)


@pytest.mark.parametrize("page", sorted(FOLDER.glob("*.md")), ids=lambda page: str(page.stem))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([\w./-]+)(?:#[\w-]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize(("command", "expected"), CONSOLE)
def test_the_examples_print_what_they_say(command: str, expected: str) -> None:
    answer = CliRunner().invoke(cli, shlex.split(command), catch_exceptions=False)
    assert answer.stdout.split() == expected.split() and expected.split()


def test_a_stressor_of_ones_own_works_as_shown() -> None:
    assert OWN is not None
    names: dict[str, type[Rewriter]] = {}
    exec(OWN[1], names)
    first = next(iter(stress(sample("reminder", None), names["Capitals"]()))).turns[0]
    assert first.user == "I WANT TO TAKE A JOURNEY FROM Brindleford TO Hartlebridge FOR four."
