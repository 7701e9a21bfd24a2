"""`dstress explain` and `dstress analyse`, over runs of three kinds of trackers and over files; and their pages."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dstress.cli.main import cli, main
from dstress.errors import DstressError
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import RunOptions
from dstress.runs.folder import RunFolder
from tests.cli.test_figure_docs import BLOCK, COMMAND
from tests.fakes.trackers import SUITE
from tests.parts import need
from tests.paths import DOCS
from tests.stressors.generators.training import training

FAMILIES = {
    "copy": {"width": 16},
    "causal": {"width": 16, "layers": 1, "heads": 2, "vocabulary": 300, "longest": 60, "longest_answer": 8},
}
PAGES = ("metrics/bias", "metrics/laws", "explain")


def trained(family: str, folder: Path) -> str:
    """A tiny tracker that has seen eight dialogues."""
    need("torch", "models")
    from dstress.learning.recipe import Recipe, TrainingOptions
    from dstress.pipeline.train import train

    options = TrainingOptions(epochs=3, batch=16, rate=0.005)
    few, fewer = training("reminder", None, 8), training("reminder", None, 2)
    train(Recipe(family, few, fewer, model=FAMILIES[family], training=options), folder / "trained")
    return f"{family}({folder / 'trained'})"


def made(spec: str, folder: Path) -> RunFolder:
    (folder / "suite.toml").write_text(SUITE)
    options = RunOptions(limit=8, resamples=50, report=False)
    return evaluate(str(folder / "suite.toml"), spec, "reminder:test", folder / "run", options)


@pytest.fixture(scope="module", params=["rules", *FAMILIES])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, ready_home: Path) -> RunFolder:
    """A run of each kind of tracker on a few dialogues of the embedded corpus."""
    folder = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSTRESS_HOME", str(ready_home))
        return made(request.param if request.param == "rules" else trained(request.param, folder), folder)


@pytest.fixture(scope="module")
def gold_run(tmp_path_factory: pytest.TempPathFactory, ready_home: Path) -> RunFolder:
    """A tracker without a fault on the same dialogues."""
    folder = tmp_path_factory.mktemp("gold")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSTRESS_HOME", str(ready_home))
        return made("gold", folder)


def called(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(cli, list(map(str, arguments)))
    if isinstance(result.exception, DstressError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def in_json(*arguments: str | Path) -> Any:
    return json.loads(called(*arguments, "--json").output)


@pytest.mark.slow
def test_a_run_is_explained_with_a_table_and_rows_for_every_sentence(run: RunFolder) -> None:
    told = in_json("explain", run.path)
    assert told["findings"]
    for finding in told["findings"]:
        assert finding["text"] == " ".join(sentence["text"] for sentence in finding["sentences"])
        for sentence in finding["sentences"]:
            rows = told["tables"][sentence["table"]]
            assert sentence["rows"] and max(sentence["rows"]) < len(rows)
    output = called("explain", run.path, "--tables").output
    assert told["findings"][0]["title"] in output and "fresh missed" not in output
    assert "slots" in output


def test_the_report_says_the_same(run: RunFolder, tmp_path: Path) -> None:
    explained = in_json("explain", run.path)["findings"]
    reported = in_json("report", run.path)["findings"]
    assert reported == explained[: len(reported)] and reported


def test_two_runs_are_told_apart(run: RunFolder, gold_run: RunFolder, tmp_path: Path) -> None:
    told = in_json("explain", run.path, gold_run.path)
    original = next(row for row in told["tables"]["systems"] if row["variant"] == "original")
    assert original["second"] == 1.0 and original["only_first"] == 0
    assert {row["variant"] for row in told["tables"]["systems"]} == set(run.variants)
    same = in_json("explain", gold_run.path, shutil.copytree(gold_run.path, tmp_path / "same"))
    assert (
        same["findings"][0]["title"].startswith("No significant difference")
        and same["tables"]["systems"][0]["difference"] == 0
    )


def test_a_faultless_run_has_no_weak_slot(gold_run: RunFolder) -> None:
    titles = [finding["title"] for finding in in_json("explain", gold_run.path)["findings"]]
    assert not any("weak" in title or "Mend" in title for title in titles)


def test_bias_of_a_run(run: RunFolder, tmp_path: Path) -> None:
    told = in_json("analyse", "bias", run.path, "--most", "2")
    (study,) = told["studies"]
    assert {row["metric"] for row in told["correlations"]} == {"jga", "sa", "aga", "rsa", "fga", "gca"}
    assert len(study["dialogues"]) + study["faultless"] == 8
    assert len(told["disagreements"]) <= 2
    page, plots = tmp_path / "bias.html", tmp_path / "figures"
    called("analyse", "bias", run.path, "--html", page, "--plots", plots)
    assert page.read_text("utf-8").startswith("<!doctype html>") and "<script" not in page.read_text("utf-8")


def test_the_page_opens_without_a_flaw(chromium: Any, shared: Path, tmp_path: Path) -> None:
    """On a wide and a narrow screen, of a real file: nothing is fetched, nothing overflows, both figures are there."""
    page = tmp_path / "bias.html"
    called("analyse", "bias", shared / "golden/gca/data/T5/T5_result_zeroshot_attraction.json", "--html", page)
    for width in (1100, 390):
        opened = chromium.new_page(viewport={"width": width, "height": 900})
        complaints: list[str] = []
        opened.on("console", lambda message, found=complaints: found.append(message.text))
        opened.on("request", lambda request, found=complaints: found.append(request.url))
        opened.goto(page.as_uri())
        assert complaints == [page.as_uri()]
        assert opened.locator("figure svg:visible").count() == 2
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        opened.close()


def test_names_of_files_cannot_bring_markup_along(tmp_path: Path) -> None:
    file = tmp_path / "<b>x&y.json"
    slots = ("area", "name", "stars")
    dialogues = {}
    for n in range(6):
        gold = [dict.fromkeys(slots[: turn + 1], "<u>") for turn in range(3)]
        said = [
            {slot: v for slot, v in state.items() if slot not in slots[n % 3 : n % 3 + 1 + n // 3]} for state in gold
        ]
        turns = zip(gold, said, strict=True)
        dialogues[f"<i>{n}"] = {str(t): {"gt": {"hotel": g}, "pr": {"hotel": p}} for t, (g, p) in enumerate(turns)}
    file.write_text(json.dumps(dialogues))
    page, figures = tmp_path / "bias.html", tmp_path / "figures"
    called("analyse", "bias", file, "--html", page, "--plots", figures)
    drawn = [path.name for path in figures.iterdir()]
    assert len(drawn) == 8 and all(re.fullmatch(r"[\w.+-]+", name) for name in drawn)
    text = page.read_text("utf-8")
    assert "<b>x" not in text and "<i>0" not in text and "&lt;b&gt;x&amp;y" in text
    assert "hotel-area" in called("explain", file).output


@pytest.mark.slow
def test_a_file_is_enough(shared: Path) -> None:
    """TRADE's layout with gold of its own, and states of a generating tracker against a corpus in the TRADE layout."""
    told = in_json("explain", shared / "data/predictions/copy-b-test.json.zip")
    assert told["tables"]["turns"][0]["units"] == 7368
    called("corpora", "add", "mwz", shared / "data/multiwoz21-trade")
    causal = shared / "data/predictions/causal-a-test.jsonl.zip"
    told = in_json("explain", causal, "--gold", "mwz:test")
    assert told["tables"]["names"][0]["predicted"] > 0
    assert 0.5 < told["tables"]["slots"][0]["accuracy"] < 0.55
    bias = in_json("analyse", "bias", causal, "--gold", "mwz:test", "--metrics", "jga")
    assert bias["studies"][0]["signature"]["turns"] == "7368"


def test_what_cannot_be_is_said(run: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(DstressError, match="a run has its own gold"):
        called("explain", run.path, "--gold", "reminder:test")
    assert CliRunner().invoke(cli, ["explain", "a", "b", "c"]).exit_code == 2
    with pytest.raises(DstressError, match="unknown variant"):
        called("analyse", "bias", run.path, "--variant", "typo")
    with pytest.raises(DstressError, match="unknown metric"):
        called("analyse", "laws", "--metrics", "jgaa")


def test_laws_as_json_and_of_one_metric() -> None:
    told = in_json("analyse", "laws", "--cases", "5", "--metrics", "jga,gca")["laws"]
    assert {row["metric"] for row in told} == {"jga", "gca"} and len(told) == 24
    assert all(row["up"] + row["same"] + row["down"] == 5 for row in told)
    assert "fga goes" in called("analyse", "laws", "--cases", "5", "--metrics", "fga").output


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_examples_print_what_they_say(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands in a block of their own come first: they make the runs that the examples show."""
    monkeypatch.chdir(tmp_path)
    text = (DOCS / f"{page}.md").read_text("utf-8")
    commands = re.findall(r"^dstress (.+)$", "".join(re.findall(r"^```bash\n(.*?)^```", text, re.M | re.S)), re.M)
    for command in commands:
        with pytest.raises(SystemExit) as left:
            main(shlex.split(command))
        assert left.value.code == 0, command
    capsys.readouterr()
    found = [example for block in BLOCK.findall(text) for example in COMMAND.findall(block)]
    assert found
    for command, expected in found:
        with pytest.raises(SystemExit):
            main(shlex.split(command))
        assert capsys.readouterr().out.split() == expected.split(), command


def test_the_table_of_real_systems_is_recomputed(shared: Path) -> None:
    """The table of docs/metrics/bias.md, but for the paper's own row."""
    text = (DOCS / "metrics/bias.md").read_text("utf-8")
    files = {
        "copy-a (TRADE family), 2.1 test": shared / "data/predictions/copy-a-test.json.zip",
        "T5, zero-shot attraction": shared / "golden/gca/data/T5/T5_result_zeroshot_attraction.json",
    }
    for name, file in files.items():
        rows = in_json("analyse", "bias", file, "--metrics", "fga,gca")["correlations"]
        values = {(row["trait"], row["metric"]): row["correlation"] for row in rows}
        cells = [f"{values[trait, metric]:.2f}" for trait in ("to", "nu") for metric in ("fga", "gca")]
        assert f"| {name} | {rows[0]['dialogues']} | {' | '.join(cells)} |" in text


def test_a_file_without_a_fault_has_nothing_to_tell(tmp_path: Path) -> None:
    file = tmp_path / "right.json"
    file.write_text('{"d": {"0": {"gt": {"hotel": {"area": "north"}}, "pr": {"hotel": {"area": "north"}}}}}')
    assert "1. Nothing to tell. No slot has an error" in called("explain", file).output


def test_what_a_run_cannot_heed_is_refused(gold_run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    """Its scores have a convention, and its answers no format; a metric beside itself says nothing."""
    for told, problem in (
        (("explain", "--convention", "trade"), "`dstress rescore"),
        (("explain", "--format", "trade"), "leave --format out"),
        (("analyse", "bias", "--format", "trade"), "leave --format out"),
        (("analyse", "bias", "--against", "jga", "--versus", "jga"), "both jga"),
    ):
        with pytest.raises(SystemExit) as left:
            main([*told, str(gold_run.path)])
        assert left.value.code == 2 and problem in capsys.readouterr().err
