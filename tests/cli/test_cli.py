"""The command line as a person meets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from dstress import __version__
from dstress.cli.main import VERBS, cli, main
from dstress.cli.names import KINDS, registry
from tests.corpora import layouts
from tests.paths import ROOT


def run(*arguments: str) -> str:
    answer = CliRunner().invoke(cli, list(arguments), catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    return answer.output


def test_version() -> None:
    assert run("--version").strip() == f"dstress, version {__version__}"


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_shows_examples(verb: str) -> None:
    assert "Example" in run(*([verb] if verb else []), "--help")


def test_an_unknown_verb_suggests_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["corpra"])
    assert stop.value.code == 2 and "'corpora'" in capsys.readouterr().err


@pytest.mark.parametrize("kind", KINDS)
def test_list_names_every_component_with_a_summary(kind: str) -> None:
    listed = json.loads(run("list", kind, "--json"))
    assert list(listed) == list(registry(kind)) and all(listed.values())
    assert all(name in run("list", kind) for name in listed)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    assert "_DSTRESS_COMPLETE" in run("completion", shell)


def test_a_shell_that_asks_for_names_gets_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What `dstress` says to a shell's question would stand in the middle of the line that is being typed."""
    for name, value in {
        "_DSTRESS_COMPLETE": "bash_complete",
        "COMP_WORDS": "dstress list sui",
        "COMP_CWORD": "2",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        main([])
    assert (ended.value.code, *capfd.readouterr()) == (0, "plain,suites\n", "")


COMPLETED = [
    ("corpora sh", ["show"]),
    ("run qu", ["quick"]),
    ("run quick --tracker ru", ["rules"]),
    ("run quick --corpus remi", ["reminder"]),
    ("run quick --corpus reminder:te", ["reminder:test"]),
    ("run quick --only typos,ent", ["typos,entities"]),
    ("run quick --engine l", ["local"]),
    ("stress reminder:test --with typos+ent", ["typos+entities"]),
    ("score x.json --convention tr", ["trade", "trippy"]),
    ("score x.json --metrics jga,fg", ["jga,fga"]),
    ("score x.json --by dom", ["domain"]),
    ("convert x.json --to ch", ["checkdst"]),
    ("list typ", ["typos"]),
]


@pytest.mark.parametrize(("typed", "offered"), COMPLETED)
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_is_offered_names(shell: str, typed: str, offered: list[str]) -> None:
    words = f"dstress {typed}"
    protocol = {"_DSTRESS_COMPLETE": f"{shell}_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    answer = CliRunner().invoke(cli, prog_name="dstress", env=protocol, complete_var="_DSTRESS_COMPLETE")
    lines = answer.stdout.splitlines()
    if shell == "zsh":  # type, name and help are a line each
        lines = [f"{type},{name}" for type, name in zip(lines[::3], lines[1::3], strict=True)]
    assert lines == [f"plain,{name}" for name in offered]


def test_bash_completes_with_the_script_that_is_printed(tmp_path: Path, data_home: Path) -> None:
    program = tmp_path / "dstress"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dstress "$@"\n')
    program.chmod(0o755)
    asked = """
        source <(dstress completion bash)
        [[ $COMP_WORDBREAKS == *:* ]] && echo "the colon parts words"
        COMP_WORDS=(dstress run quick --corpus reminder:te) COMP_CWORD=4
        _dstress_completion dstress
        echo "${COMPREPLY[@]}"
    """
    search = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": search, "PYTHONPATH": os.pathsep.join(sys.path)}
    answer = subprocess.run(["bash", "-c", asked], env=environment, capture_output=True, text=True)
    assert answer.stdout.split() == ["reminder:test"], answer.stderr


def test_one_component_is_shown_with_its_arguments_and_its_page() -> None:
    shown = run("list", "typos")
    assert "Typing errors as fingers make them" in shown and "see docs/stressors/typos.md" in shown
    assert [line.split() for line in shown.splitlines() if line.startswith("  rate")] == [["rate", "0.1"]]
    (told,) = json.loads(run("list", "typos", "--json"))
    assert told["kind"] == "stressor" and told["arguments"]["rate"] == "0.1"
    assert [found["kind"] for found in json.loads(run("list", "http", "--json"))] == ["tracker", "translator"]
    assert "rate, kinds, values" in run("list", "stressors")


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_of_every_component_tells_about_it(kind: str) -> None:
    for name in registry(kind):
        page = ROOT / KINDS[kind]["page"].format(name=name).partition("#")[0]
        assert name in page.read_text(), name


def test_what_cannot_be_listed_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert "stressors" in run("list").split()
    for typed, meant in (("stresors", "'stressors'"), ("tpyos", "'typos'")):
        with pytest.raises(SystemExit) as stop:
            main(["list", typed])
        assert stop.value.code == 2 and meant in capsys.readouterr().err


def test_a_language_is_said_shown_and_heeded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("corpora", "add", "mine", str(layouts.dstress(tmp_path)), "--language", "de")
    assert json.loads(run("corpora", "show", "mine", "--json"))["splits"]["test"]["language"] == "de"
    for refused in (
        ["stress", "mine:test", "--with", "typos", "--out", str(tmp_path / "out")],
        ["corpora", "show", "mine", "--variants", "--also", "schema_noise"],
    ):
        with pytest.raises(SystemExit) as stop:
            main(refused)
        assert stop.value.code == 2 and "is for en, and the utterances are in de" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_show_as_json_has_the_promised_keys(tmp_path: Path) -> None:
    run("corpora", "add", "mine", str(layouts.sgd(tmp_path)))
    shown = json.loads(run("corpora", "show", "mine", "--json"))
    assert {key: shown[key] for key in ("name", "services", "slots")} == {"name": "mine", "services": 2, "slots": 4}
    assert {key: shown["splits"]["test"][key] for key in ("dialogues", "turns", "frames")} == {
        "dialogues": 1, "turns": 3, "frames": 3,
    }  # fmt: skip


def test_show_prints_slots_values_and_the_dialogue_asked_for(tmp_path: Path) -> None:
    run("corpora", "add", "mine", str(layouts.sgd(tmp_path)))
    shown = run("corpora", "show", "mine:test", "--dialogue", "2_00000")
    assert "Hotels_1-price" in shown and "cheap (1)" in shown and layouts.USER[0] in shown


def test_json_goes_to_a_file_when_one_is_named(tmp_path: Path) -> None:
    run("list", "conventions", "--json", str(tmp_path / "out.json"))
    assert "exact" in json.loads((tmp_path / "out.json").read_text())


def test_check_tells_damage_and_leaks(tmp_path: Path, data_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("corpora", "add", "mine", str(layouts.sgd(tmp_path)))
    assert "same user utterances" in run("corpora", "check", "mine")
    path = data_home / "corpora/mine/test.jsonl"
    path.write_bytes(path.read_bytes().replace(b"cheap", b"dear!"))
    with pytest.raises(SystemExit) as stop:
        main(["corpora", "check", "mine"])
    assert stop.value.code == 2 and "changed since it was imported" in capsys.readouterr().err


def test_list_remove_and_compare(tmp_path: Path) -> None:
    for name in ("one", "two"):
        run("corpora", "add", name, str(layouts.sgd(tmp_path)))
    assert "0 of 3 turns" in run("corpora", "compare", "one:test", "two:test")
    run("corpora", "remove", "two")
    assert list(json.loads(run("corpora", "list", "--json"))["corpora"]) == ["one", "reminder"]


def test_variants_writes_files(tmp_path: Path) -> None:
    from tests.corpora.test_sgdx import variant_folder

    sgd, schemas = layouts.sgd(tmp_path / "sgd"), variant_folder(tmp_path / "x")
    assert "4 files" in run("corpora", "variants", str(sgd), str(schemas), "--out", str(tmp_path / "out"))


def test_no_file_of_the_working_folder_is_executed_unless_it_is_asked_for(tmp_path: Path) -> None:
    for name in ("org", "own"):
        (tmp_path / f"{name}.py").write_text(f"open('{name} was executed', 'w').close()\n")

    def executed(*arguments: str) -> set[str]:
        script = Path(sys.executable).with_name("dstress")
        subprocess.run([script, *arguments], cwd=tmp_path, capture_output=True)
        return {path.name for path in tmp_path.glob("* was executed")}

    assert executed("list") == executed("list", "stressors", "--json") == set()
    assert executed("corpora", "show", "reminder:test") == set()
    assert "own was executed" in executed("stress", "reminder:test", "--with", "own:Own", "--out", "stressed")


def test_demo_runs_to_its_end(tmp_path: Path) -> None:
    shown = run("demo", "--out", str(tmp_path / "demo"))
    assert "Quick look: rules on reminder:test" in shown and "\n1. " in shown and "report.html" in shown
    assert (tmp_path / "demo" / "report.html").stat().st_size > 100_000


def test_a_pipe_that_closes_early_is_no_error() -> None:
    command = f"{sys.executable} -m dstress list formats | head -1"
    answer = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True)
    assert answer.stderr == ""


def test_interrupting_says_so() -> None:
    code = "from dstress.cli import main as m; import dstress.cli.list as l\ndef stop(*a): raise KeyboardInterrupt\n"
    code += "l.registry = stop\nm.main(['list', 'formats'])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert answer.returncode == 130 and "interrupted" in answer.stderr and "Traceback" not in answer.stderr
