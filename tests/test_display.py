"""What Python shows of things: a line of text, tables as HTML, and the numbers as pandas and CSV."""

from __future__ import annotations

import csv
import io
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pandas
import pytest
from click.testing import CliRunner

import dstress
from dstress.cli.main import cli
from dstress.display import Displayed
from dstress.errors import MissingExtraError, UnknownNameError
from dstress.pipeline.gate import gate
from dstress.pipeline.run import RunOptions
from dstress.reports.tables import Table
from dstress.scoring.score import ScoringOptions, score

EVIL = "<script>alert('x')</script> & \"more\""
SUITE = """
title = "Two"
metrics = ["jga", "slot-f1"]
slices = ["service"]
stressors = ["typos", "disfluency"]
[[table]]
column = "typing"
variant = "typos"
metric = "jga"
[[table]]
column = "typing cJGA"
variant = "typos"
metric = "cjga"
"""


class Cells(HTMLParser):
    """The cells of every table on a page, and every tag."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory, ready_home: Path) -> dict[str, Displayed]:
    """One of each kind."""
    folder = tmp_path_factory.mktemp("shown")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSTRESS_HOME", str(ready_home))
        suite = folder / "two.toml"
        suite.write_text(SUITE)
        corpus = dstress.load("reminder:test", limit=12)
        runs = [
            dstress.evaluate(str(suite), tracker, corpus, folder / tracker, report=False)
            for tracker in ("gold", "rules")
        ]
        said = {
            one.id: [{slot: forms[0] for slot, forms in turn.state.items()} for turn in one.turns] for one in corpus
        }
        wrong = {name: [{} for _ in states] for name, states in said.items()}
        return {
            "card": dstress.score(said, corpus, by=["service", "slot"]),
            "comparison": dstress.compare({"good": said, "bad": wrong, "worse": wrong}, corpus),
            "run": runs[1],
            "scores": runs[1].scores,
            "verdict": gate(runs[1], runs[0]),
            "corpus": corpus,
            "stressed": dstress.stress(corpus, "typos"),
            "dialogue": corpus[0],
            "schema": corpus.schema,
        }


KINDS = ("card", "comparison", "run", "scores", "verdict", "corpus", "stressed", "dialogue", "schema")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_text_is_short(kind: str, shown: dict[str, Displayed]) -> None:
    assert len(repr(shown[kind])) < 300 and "\n" not in repr(shown[kind])
    assert repr(shown[kind]).startswith(f"{type(shown[kind]).__name__}(")


@pytest.mark.parametrize("kind", KINDS)
def test_html_pandas_and_csv_have_the_same_rows(kind: str, shown: dict[str, Displayed], tmp_path: Path) -> None:
    thing = shown[kind]
    page = Cells(thing._repr_html_())
    filled = {name: table for name, table in thing.tables.items() if table.rows}
    assert filled and len(page.tables) == len(filled)
    for (name, table), cells in zip(filled.items(), page.tables, strict=True):
        assert cells == [table.names, *map(list, table.rows)]
        frame, text = thing.to_pandas(name), thing.to_csv(tmp_path / f"{name}.csv", name)
        assert len(frame) == len(table.data) >= len(table.rows)
        assert "unit" not in frame or "%" not in set(frame["unit"]), "data are fractions: their unit is no percent"
        assert (tmp_path / f"{name}.csv").read_text() == text
        read = list(csv.DictReader(io.StringIO(text)))
        assert list(read[0]) == list(frame.columns) and len(read) == len(frame)
        for column in frame.select_dtypes("number"):
            numbers = [float(row[column]) if row[column] else None for row in read]
            assert numbers == [None if pandas.isna(value) else value for value in frame[column]]


def test_numbers_are_those_of_the_thing(shown: dict[str, Displayed]) -> None:
    run, verdict, comparison, card = (shown[kind] for kind in ("run", "verdict", "comparison", "card"))
    assert isinstance(run, dstress.pipeline.run.Run) and isinstance(card, dstress.Scorecard)
    assert verdict.unit == "share" and all(0 <= check.new <= 1 for check in verdict.checks.values())
    drops = run.to_pandas("stressors").set_index("stressor")
    for variant, drop in run.scores.drops.items():
        assert drops.loc[variant].to_dict() == msgspec.structs.asdict(drop)
    metrics = run.to_pandas("metrics").set_index(["variant", "metric"])
    assert metrics.loc[("typos", "jga"), "value"] == run.scores.variants["typos"]["jga"].value
    assert list(card.tables) == ["metrics", "slots", "service"]
    services = card.to_pandas("service").set_index("service")
    assert services["jga"].to_dict() == {key: values["jga"] for key, values in card.by("service").items()}
    assert "rules on reminder:test, the first 12 dialogues" in repr(run)
    tests: Any = comparison.to_pandas("tests")
    assert list(tests["system"].unique()) == ["bad", "worse"] and len(tests) == 8
    assert not verdict.to_pandas()["passed"].all() and "failed under" in repr(verdict)


def test_a_dialogue_shows_what_each_turn_changes() -> None:
    turns = (
        dstress.Turn("north please", state={"hotel-area": ("north", "n")}),
        dstress.Turn("never mind", "It is full.", state={}),
    )
    dialogue = dstress.Dialogue("d1", turns, ("hotel",))
    [table] = Cells(dialogue._repr_html_()).tables
    assert table[1:] == [
        ["0", "", "north please", "hotel-area = north"],
        ["1", "It is full.", "never mind", "hotel-area is dropped"],
    ]


def test_what_comes_from_data_is_escaped() -> None:
    service = dstress.load("reminder:test").schema.services[0]
    schema = dstress.Schema((msgspec.structs.replace(service, name=EVIL, description=EVIL),))
    dialogue = dstress.Dialogue(EVIL, (dstress.Turn(EVIL, EVIL, {EVIL: (EVIL,)}),), (EVIL,))
    corpus = dstress.Corpus(EVIL, "test", schema, lambda: iter([dialogue]))
    card = dstress.score({EVIL: [{f"h-{EVIL}": EVIL}]}, {EVIL: [{f"h-{EVIL}": "x"}]})
    table = Table((EVIL, f"#{EVIL}"), [(EVIL, EVIL)], EVIL)
    for thing in (schema, dialogue, corpus, card, table):
        page = Cells(thing._repr_html_())
        assert "script" not in page.tags and EVIL in "".join(cell for t in page.tables for row in t for cell in row)


def test_without_pandas_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"pandas is not installed\n.*pip install 'dstress\[notebook\]'"):
        dstress.load("reminder:test").to_pandas()


def test_a_table_that_is_not_there() -> None:
    with pytest.raises(UnknownNameError, match="unknown table 'service'; did you mean 'services'"):
        dstress.load("reminder:test").to_csv(table="service")


def test_every_option_is_taken_by_its_name(shown: dict[str, Displayed], tmp_path: Path) -> None:
    page = Path(__file__).parent.parent / "docs" / "example.json"
    options = msgspec.structs.asdict(ScoringOptions(level=0.9, resamples=50, limit=1))
    assert score(page, **options) == score(page, options=ScoringOptions(**options))
    with pytest.raises(TypeError, match="levels"):
        score(page, levels=0.9)
    by_name = RunOptions(limit=2, only=("typos",), resamples=20, report=False)._asdict()
    run = dstress.evaluate("quick", "gold", "reminder:test", tmp_path / "run", **by_name)
    assert (run.manifest.limit, run.variants) == (2, ("original", "typos"))
    with pytest.raises(ValueError, match="limits"):
        dstress.evaluate("quick", "gold", "reminder:test", tmp_path / "other", limits=2)


def test_the_command_line_writes_csv(
    shown: dict[str, Displayed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = shown["run"]
    assert isinstance(run, dstress.pipeline.run.Run)
    page = str(Path(__file__).parent.parent / "docs" / "example.json")
    good, bad = (str(run.path.parent / name) for name in ("gold", "rules"))
    commands = {
        ("score", page, "--by", "service", "--csv", "s.csv"): ["s.csv", "s-slots.csv", "s-service.csv"],
        ("score", page, "--conventions", "trade,exact", "--metrics", "jga", "--csv", "c.csv"): ["c.csv"],
        ("compare", page, "twin.json", "--csv", "pair.csv"): ["pair.csv", "pair-tests.csv", "pair-slots.csv"],
        ("report", good, "--csv", "r.csv"): ["r.csv", "r-stressors.csv", "r-metrics.csv"],
        ("gate", bad, "--against", good, "--csv", "g.csv"): ["g.csv"],
    }
    (tmp_path / "twin.json").write_text(Path(page).read_text())
    for command, files in commands.items():
        before = set(tmp_path.iterdir())
        answer = CliRunner().invoke(cli, list(command), catch_exceptions=False)
        assert answer.exit_code == 0, answer.output
        assert {file.name for file in set(tmp_path.iterdir()) - before} == set(files)
        for file in files:
            assert len((tmp_path / file).read_text().splitlines()) > 1
    assert (tmp_path / "r-stressors.csv").read_text() == dstress.pipeline.run.Run.open(Path(good)).to_csv(
        table="stressors"
    )
    assert (tmp_path / "c.csv").read_text().splitlines()[0] == "convention,unit,units,jga"
    printed = CliRunner().invoke(cli, ["score", page, "--metrics", "jga", "--csv", "-"], catch_exceptions=False).output
    assert [line.split(",")[0] for line in printed.splitlines()] == ["metric", "jga"]


def test_a_corpus_gives_its_turns() -> None:
    few = dstress.load("reminder:test")[:2]
    frame, dialogues = few.to_pandas(), list(few)
    assert list(frame.columns) == ["dialogue", "turn", "system", "user", "state"]
    assert len(frame) == sum(len(dialogue.turns) for dialogue in dialogues)
    assert list(frame["user"]) == [turn.user for dialogue in dialogues for turn in dialogue.turns]
    assert list(few.tables) == ["services"] and few.to_csv().startswith("dialogue,turn,system,user,state\n")
    card = dstress.score(frame, frame)
    assert card["jga"].value == 1
    units = card.to_pandas().set_index("metric")["unit"]
    assert units["jga"] == "share" and list(units.index[:2]) == ["jga", "slot-f1"]
