"""The page is one file, whole and safe: nothing is fetched, nothing but its own script runs, all text is text."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs

import msgspec
import pytest

import dstress
from dstress.corpora.base import Corpus
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import Run
from dstress.reports.html import REPORT, render_html, write_html
from dstress.reports.numbers import PAGE
from dstress.reports.views import limits
from dstress.runs.folder import ORIGINAL, Cell, RunFolder, Scores
from dstress.runs.scores import find_errors
from dstress.runs.suites import Suite
from tests.reports.conftest import SCHEMA, Shaky


class Elements(HTMLParser):
    """Start tags with their attributes, scripts with their texts, and what a reader sees."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts.append(data)
        elif self._inside != "style":
            self.words.append(data)


@pytest.fixture(scope="module")
def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def elements(text: str) -> Elements:
    return Elements(text)


@pytest.mark.slow
def test_the_page_asks_for_nothing(elements: Elements) -> None:
    for tag, attributes in elements.tags:
        for name in ("src", "href", "data", "action", "xlink:href"):
            address = attributes.get(name) or ""
            assert not address or address.startswith(("#", "data:,", "data:text/csv;", "data:application/pdf;")), (
                tag,
                address,
            )


def test_only_the_pages_own_script_may_run(text: str, elements: Elements) -> None:
    policy = next(at["content"] for tag, at in elements.tags if tag == "meta" and at.get("http-equiv")) or ""
    assert "default-src 'none'" in policy
    digest = base64.b64encode(hashlib.sha256(elements.scripts[-1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    running = [at for tag, at in elements.tags if tag == "script" and not at.get("type")]
    assert len(running) == 1


def test_markup_in_the_data_stays_text(elements: Elements, text: str) -> None:
    assert "shaky<b>" in "".join(elements.words)
    assert "Small <suite>" in "".join(elements.words)
    assert "hotel-na<b>me" in "".join(elements.words)
    assert not re.search(r"<img|<suite|<i>", text)
    assert not any(name.startswith("on") for _, attributes in elements.tags for name in attributes)


def test_all_sections_are_there(elements: Elements) -> None:
    ids = [attributes.get("id") for tag, attributes in elements.tags if tag == "section"]
    expected = [
        "summary",
        "cost",
        "profile",
        "services",
        "slots",
        "confusion",
        "metrics",
        "stressors",
        "explore",
        "again",
    ]
    assert ids == expected


def test_the_page_says_how_to_make_the_run_again(elements: Elements, run: RunFolder) -> None:
    words = " ".join("".join(elements.words).split())
    assert "dstress run 'Small <suite>' --tracker 'shaky<b>' --corpus small:test --seed 1" in words
    for value in (*run.manifest.hashes.values(), *run.manifest.versions.values()):
        assert value in words
    assert run.scores.variants["entities"]["gca"].signature in words


def test_every_measure_says_over_how_many(elements: Elements, run: RunFolder) -> None:
    words = " ".join("".join(elements.words).split())
    original = run.scores.variants["original"]["jga"]
    assert f"over {original.n:,.0f} turns" in words
    for cell in run.scores.table:
        assert cell.score
        shown = PAGE.interval(cell.score.low, cell.score.high)
        assert " ".join(f"{PAGE.percent(cell.score.value)} {shown} {cell.score.n:,.0f}".split()) in words
    for drop in run.scores.drops.values():
        assert drop.dialogues == 40
        shown = PAGE.change_interval(drop.low, drop.high)
        assert f"{shown}{PAGE.probability(drop.p_holm)}40{PAGE.differing(drop)}" in words


def test_the_broken_turn_is_linked_as_the_explorer_counts(elements: Elements, run: RunFolder) -> None:
    """From 1: the link leads to a turn that is wrong under the stressor and right on the original."""
    (link,) = {href for _, at in elements.tags if "&at=" in (href := at.get("href") or "")}
    variant, dialogue, number = parse_qs(link.partition("?")[2])["at"][0].split("/")
    errors, place = find_errors(run), (dialogue, int(number) - 1)
    assert not all(error.is_right for error in errors[variant][place])
    assert all(error.is_right for error in errors[ORIGINAL].get(place, ()))


def test_failed_turns_are_told(elements: Elements, run: RunFolder) -> None:
    words = " ".join("".join(elements.words).split())
    assert sum(run.scores.failed.values()) > 0
    assert f"{sum(run.scores.failed.values())} without a prediction" in words
    assert "timed out </script>" in words


@pytest.mark.slow
def test_the_same_run_gives_the_same_page(run: RunFolder, text: str) -> None:
    assert render_html(run, find_errors(run)) == text


@pytest.mark.slow
def test_a_page_can_go_elsewhere(run: RunFolder, tmp_path: Path) -> None:
    path = write_html(run, find_errors(run), tmp_path / "deep" / "page.html")
    assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")


@pytest.mark.slow
def test_a_run_writes_its_page_itself(run: Run, tmp_path: Path) -> None:
    """The page that a run ends with, made of what was judged for the scores, is the one that is made of its folder."""
    assert run.report(tmp_path / "page.html").read_bytes() == (run.path / REPORT).read_bytes()


def test_the_page_says_how_much_there_is_and_since_when(elements: Elements, run: RunFolder) -> None:
    words = " ".join("".join(elements.words).split())
    assert "40 dialogues 160 turns 3 stressors convention exact seed 1 started" in words
    assert ("time", {"datetime": run.manifest.started}) in elements.tags


def test_the_page_tells_its_limits(elements: Elements, run: RunFolder) -> None:
    words = " ".join("".join(elements.words).split())
    widest = max((drop.high - drop.low) / 2 for drop in run.scores.drops.values())
    assert f"to within ±{100 * widest:.1f} points at worst" in words
    assert f"{sum(run.scores.failed.values())} turns have no prediction and count as wrong." in words
    manifest = msgspec.structs.replace(run.manifest, limit=5, only=("typos",))
    cell = Cell("coref JGA", "original", "coref-jga", missing="no turn needs it")
    told = limits(manifest, Scores(run.scores.variants, table=[cell]), 7)
    assert told == [
        "Only part of the corpus was used: small:test, the first 5 dialogues.",
        "Only some of the suite's stressors were run: typos.",
        "No value for coref JGA: no turn needs it.",
        "7 examples are not shown, to keep the page small; all numbers include them.",
    ]


def test_a_measure_of_which_less_is_better_says_so(text: str) -> None:
    rows = re.findall(r'<th scope="row"><span dir="auto">(.*?)</th>', text)
    assert [row.partition("<")[0] for row in rows if "lower is better" in row] == ["names always wrong"]


@pytest.mark.slow
def test_a_run_that_is_resumed_keeps_its_day(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And so ends with the bytes of one that was never disturbed."""
    pages = []
    for name, days in (("whole", ["0"]), ("resumed", ["0", "86400"])):
        for day in days:
            monkeypatch.setenv("SOURCE_DATE_EPOCH", day)
            corpus = dstress.load("reminder:test")[:3]
            run = evaluate("quick", "empty", corpus, tmp_path / name, only=("typos",), resamples=5, resume=True)
            if day != days[-1]:
                run.variant("typos").predictions_path().unlink()
        pages.append([(tmp_path / name / file).read_bytes() for file in ("run.toml", REPORT)])
    assert pages[0] == pages[1]
    assert b'started = "1970-01-01"' in pages[0][0] and b"started <time" in pages[0][1]


@pytest.mark.slow
def test_a_run_from_before_days_were_kept_shows_none(run: RunFolder) -> None:
    earlier = RunFolder(run.path, msgspec.structs.replace(run.manifest, started=""))
    assert "<time" not in render_html(earlier, find_errors(run))


def test_what_a_schema_stressor_changed_is_listed(corpus: Corpus, tmp_path: Path) -> None:
    run = evaluate(Suite("names", stressors=("schema_noise",)), Shaky(), corpus[:5], tmp_path / "run", resamples=5)
    words = Elements((run.path / REPORT).read_text("utf-8")).words
    for before, after in zip(SCHEMA.slots, run.variant("schema_noise").schema.slots, strict=True):
        assert before in words and after in words
    assert "schema_noise changes 4 slots of the schema" in words
