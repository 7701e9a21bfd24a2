"""The console examples of docs/platform are run, and print what the pages say (`...` is anything)."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner

from dstress.cli.main import cli
from dstress.leaderboard.app import create_app
from dstress.leaderboard.settings import Settings, read_settings
from tests.leaderboard.clients import Client
from tests.paths import DOCS

PLATFORM = DOCS / "platform"
BLOCK = re.compile(r"```console\n(\$ (?:dstress serve|curl).*?)```", re.DOTALL)
EXAMPLES = {
    f"{page.stem} {number}": block
    for page in (PLATFORM / "install.md", PLATFORM / "administer.md")
    for number, block in enumerate(BLOCK.findall(page.read_text()))
}


def printed(command: str) -> str:
    if command.startswith("curl "):
        app = create_app(read_settings())
        answer = Client(app).get(command.partition(":8000")[2]).text
        app.state.database.close()
        return str(answer)
    result = CliRunner().invoke(cli, shlex.split(command)[1:], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def squeeze(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_print_what_the_pages_say(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for part in re.split(r"^\$ ", EXAMPLES[name], flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        pattern = re.escape(squeeze(shown)).replace(re.escape("..."), ".*")
        assert re.fullmatch(pattern, squeeze(printed(command)), re.DOTALL), printed(command)


def test_the_pages_have_examples() -> None:
    assert {name.split()[0] for name in EXAMPLES} >= {"install", "administer"}


def test_the_table_of_settings_is_whole() -> None:
    table = re.findall(r"^\| `(DSTRESS_\w+)` \|[^|]*\| ([^|]*) \|", (PLATFORM / "install.md").read_text(), re.MULTILINE)
    assert {name for name, _ in table} == {f"DSTRESS_{field.name.upper()}" for field in fields(Settings)}
    defaults = Settings(Path())
    for name, shown in table:
        value = str(getattr(defaults, name.removeprefix("DSTRESS_").lower()))
        assert not shown.startswith("`") or shown.strip("`") in (value, "http://HOST:PORT") or " " in shown, name


def test_the_tests_that_the_security_page_names_are_there() -> None:
    named = set(re.findall(r"`(test_\w+\.py)`", (PLATFORM / "security.md").read_text()))
    assert len(named) > 8
    assert [name for name in sorted(named) if not (Path(__file__).parent / name).exists()] == []
