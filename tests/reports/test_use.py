"""The page in hand: keys, focus, filters that go away, links and tables to take along, and nobody shut out."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

import dstress
from dstress.corpora.base import Corpus
from dstress.pipeline.evaluate import evaluate
from dstress.reports.html import REPORT
from dstress.runs.folder import RunFolder
from dstress.runs.suites import Suite
from tests.parts import need
from tests.reports.conftest import Shaky
from tests.reports.visits import Visit, chosen, until

TYPOS = "typos(rate=0.2)"
MODES: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
}


def title(tab: Any) -> str:
    return str(tab.inner_text("#example h3"))


def focused(tab: Any) -> str:
    return str(tab.evaluate("document.activeElement.ariaLabel || document.activeElement.id"))


def test_arrow_keys_go_from_example_to_example_and_the_list_keeps_the_focus(visit: Visit) -> None:
    tab = visit.open()
    tab.locator("#list button").first.click()
    first = title(tab)
    tab.keyboard.press("ArrowDown")
    second = title(tab)
    assert second != first
    assert tab.evaluate("document.activeElement.getAttribute('aria-current')") == "true"
    tab.keyboard.press("ArrowRight")
    assert title(tab) not in (first, second)
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("ArrowUp")
    assert title(tab) == first
    tab.keyboard.press("ArrowUp")
    assert title(tab) == first


def test_arrow_keys_work_where_a_link_has_led_and_not_where_one_writes(visit: Visit) -> None:
    tab = visit.open("#explore?")
    first = title(tab)
    tab.keyboard.press("ArrowRight")
    assert title(tab) != first
    tab.keyboard.press("ArrowLeft")
    assert title(tab) == first
    for field in ("q", "outcome"):
        tab.focus(f"[name={field}]")
        tab.keyboard.press("ArrowRight")
        assert tab.evaluate("document.activeElement.name") == field
    tab.fill("[name=q]", "")
    tab.select_option("[name=outcome]", "")
    assert title(tab) == first


def test_a_button_that_is_made_anew_keeps_the_focus(visit: Visit) -> None:
    tab = visit.open()
    for _ in range(3):
        tab.locator("#example [aria-label='the next example']").press("Enter")
        assert focused(tab) == "the next example"
    tab.locator("#example [aria-label='the example before']").press("Enter")
    assert focused(tab) == "the example before"
    tab.locator("#list button").first.click()
    tab.focus("#example [aria-label='the next example']")
    tab.keyboard.press("Enter")
    tab.locator("#example [aria-label='the example before']").press("Enter")
    assert focused(tab) == "example"  # the first has none before it


def test_more_of_the_list_and_more_of_a_state_keep_the_focus(visit: Visit) -> None:
    tab = visit.open("#explore?stressor=")
    tab.locator("#more").press("Enter")
    assert tab.evaluate("document.activeElement.dataset.position") == "40"
    tab.locator("#example button", has_text="right").first.press("Enter")
    assert tab.evaluate("document.querySelector('#example').contains(document.activeElement)")


def test_filters_are_cleared(visit: Visit) -> None:
    tab = visit.open("#explore?")
    everything, stressor = chosen(tab), tab.input_value("[name=stressor]")
    tab.goto("about:blank")
    visit.complaints.clear()
    tab.goto(
        visit.address + "#explore?stressor=original&outcome=wrong&error=missed&slot=hotel-area&q=hotel&order=errors"
    )
    tab.wait_for_selector("#explorer:not([hidden])")
    tab.locator("#clear").press("Enter")
    until(tab, lambda status: status == f"{everything} examples")
    names = ("stressor", "outcome", "error", "slot", "q", "order")
    assert [tab.input_value(f"[name={name}]") for name in names] == [stressor, "", "", "", "", "telling"]
    assert focused(tab) == "clear"


@pytest.mark.parametrize("modern", [True, False])
def test_the_link_that_is_copied_leads_back(modern: bool, chromium: Any, page: Path) -> None:
    """Also where a browser gives a page from a disk no clipboard of the newer kind."""
    visited = Visit(chromium, page)
    copied: list[str] = []
    visited.tab.expose_function("copied", lambda text: copied.append(text))
    if modern:
        script = (
            "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async text => window.copied(text)}})"
        )
    else:
        script = (
            "Object.defineProperty(navigator, 'clipboard', {value: undefined});"
            "document.addEventListener('copy', () => window.copied(document.activeElement.value))"
        )
    visited.tab.add_init_script(script)
    tab = visited.open(f"#explore?stressor={quote(TYPOS)}&outcome=broke")
    tab.keyboard.press("ArrowRight")
    shown = title(tab)
    tab.click("#copy")
    tab.wait_for_selector("#copy:has-text('Copied')")
    [address] = copied
    again = Visit(chromium, page)
    again.tab.goto(address)
    again.tab.wait_for_selector("#example header")
    assert title(again.tab) == shown
    assert again.tab.input_value("[name=outcome]") == "broke"
    for one in (visited, again):
        one.tab.context.close()
        assert one.complaints == []


def downloaded(tab: Any, selector: str) -> tuple[str, list[dict[str, str]]]:
    with tab.expect_download() as waiting:
        tab.locator(selector).click()
    file = waiting.value
    text = Path(file.path()).read_text("utf-8")
    return file.suggested_filename, list(csv.DictReader(io.StringIO(text)))


def test_tables_are_downloaded_with_full_numbers(visit: Visit, run: RunFolder) -> None:
    tab = visit.open("#summary")
    for section, table in (("summary", "measures"), ("cost", "stressors"), ("profile", "metrics")):
        name, rows = downloaded(tab, f"#{section} .csv a[download='{table}.csv']")
        assert name == f"{table}.csv"
        assert rows == list(csv.DictReader(io.StringIO(run.to_csv(table=table))))
    name, rows = downloaded(tab, "#slots .csv a[download='slots.csv']")
    slots = run.scores.variants["entities"].slots
    mine = {row["slot"]: row for row in rows if row["variant"] == "entities"}
    assert name == "slots.csv" and mine.keys() == slots.keys()
    assert all(int(mine[slot]["missed"]) == errors.missed for slot, errors in slots.items())
    name, rows = downloaded(tab, "#services .csv a[download='services.csv']")
    jga = run.scores.variants["entities"].slices["service"]["taxi"]["jga"]
    assert [float(row["jga"]) for row in rows if (row["variant"], row["service"]) == ("entities", "taxi")] == [jga]
    name, rows = downloaded(tab, "#confusion .csv a")
    assert {"slot", "gold", "answer", "variant", "turns"} == rows[0].keys()


def test_the_examples_that_are_chosen_are_downloaded(visit: Visit, run: RunFolder) -> None:
    tab = visit.open(f"#explore?stressor={quote(TYPOS)}&outcome=broke")
    name, rows = downloaded(tab, "#save")
    assert name == "examples.csv" and len(rows) == chosen(tab) > 0
    dialogues = {dialogue.id: dialogue for dialogue in run.variant(TYPOS).dialogues()}
    for row in rows:
        turn = dialogues[row["dialogue"]].turns[int(row["turn"]) - 1]
        assert (row["user, stressed"], row["user"]) == (turn.user, turn.original.user)
        assert row["outcome"] == "right → wrong" and row["wrong slots"]


def test_every_cell_of_the_services_is_reached_by_keyboard(visit: Visit, run: RunFolder) -> None:
    """A mark of the heat map is no stop of the tab key; the table below it has the same links and the same changes."""
    tab = visit.open("#services")
    hrefs = "all => all.map(link => link.getAttribute('href') || link.getAttribute('xlink:href'))"
    marks = tab.locator("#plot-services .wide svg a").evaluate_all(hrefs)
    tab.click("#services summary")
    links = tab.locator("#services details td a").evaluate_all(hrefs)
    assert marks and set(map(unquote, marks)) <= set(map(unquote, links))
    taxi = {name: card.slices["service"]["taxi"]["jga"] for name, card in run.scores.variants.items()}
    before = taxi.pop("original")
    row = tab.locator("#services details tbody tr", has_text="taxi").locator("td")
    values = [float(cell.get_attribute("data-value") or "nan") for cell in row.all()]
    assert values == [before, *(value - before for value in taxi.values())]
    tab.locator("#services summary").focus()
    for _ in range(9):  # the table's own region and its columns, which sort, come first
        tab.keyboard.press("Tab")
        if tab.evaluate("() => document.activeElement.matches('#services td a')"):
            break
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#example header")
    assert "#explore?stressor=original&slot=" in tab.url


def violations(tab: Any) -> list[str]:
    """What axe-core finds, with every fold open and without shadows, behind which it can tell no contrast."""
    from axe_playwright_python.base import AXE_FILE_PATH

    tab.evaluate("() => document.querySelectorAll('details').forEach(each => { each.open = true; })")
    tab.add_style_tag(content=".scroll { background: none !important; } nav { position: static !important; }")
    tab.evaluate(Path(AXE_FILE_PATH).read_text("utf-8"))
    found = tab.evaluate("() => axe.run()")
    assert len(found["passes"]) > 30
    return [f"{rule['id']}: {node['html']}" for rule in found["violations"] for node in rule["nodes"]]


@pytest.mark.parametrize("mode", MODES)
def test_axe_has_nothing_to_say(mode: str, chromium: Any, page: Path) -> None:
    need("axe")
    visited = Visit(chromium, page, **MODES[mode])
    assert violations(visited.open()) == []
    visited.tab.context.close()


def test_axe_would_have_something_to_say(chromium: Any, page: Path) -> None:
    """Of a page with a picture that has no text and letters that nobody can read."""
    need("axe")
    visited = Visit(chromium, page)
    tab = visited.open()
    tab.evaluate("() => { document.querySelector('#summary .hint').style.color = '#ddd'; }")
    assert any(found.startswith("color-contrast") for found in violations(tab))
    tab.context.close()


def test_a_run_without_stressors_has_no_empty_cards(chromium: Any, corpus: Corpus, tmp_path: Path) -> None:
    need("axe")
    evaluate(Suite("plain", metrics=("jga",)), Shaky(), corpus[:20], tmp_path / "run", resamples=20)
    visited = Visit(chromium, tmp_path / "run" / REPORT)
    tab = visited.open()
    sections = tab.locator("section").evaluate_all("all => all.map(each => each.id)")
    assert sections == ["summary", "slots", "confusion", "stressors", "explore", "again"]
    targets = tab.locator("nav a").evaluate_all("all => all.map(link => link.hash.slice(1))")
    assert targets == ["summary", "slots", "confusion", "stressors", "explore", "again"]
    assert tab.locator("#stressors h2").all_inner_texts() == ["Turns without a prediction"]
    assert violations(tab) == []
    tab.context.close()
    assert visited.complaints == []


def test_a_large_page_shows_every_mark(chromium: Any, tmp_path: Path) -> None:
    """Twelve stressors of forty slots, as many marks as a page ever has."""
    stressors = tuple(f"typos(rate={rate / 100})" for rate in range(4, 16))
    corpus = dstress.load("reminder:test")[:40]
    evaluate(Suite("large", stressors=stressors), "rules", corpus, tmp_path / "run", resamples=20)
    tab = Visit(chromium, tmp_path / "run" / REPORT).open("")
    assert tab.locator("#plot-slot-stressors .wide .mark-rect title").count() > 300
    tab.context.close()
