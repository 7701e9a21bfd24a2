"""The page of five runs in a real browser: how fast it opens, links into the turns, filters, dark mode, a phone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from dstress.reports.many_runs import ManyRuns, study_runs, write_many_html
from dstress.runs.folder import RunFolder
from dstress.runs.scores import find_errors
from dstress.scoring.score import ScoringOptions
from tests.parts import need
from tests.reports.test_browser import PHONE, TYPOS, Visit
from tests.reports.test_use import MODES, violations


@pytest.fixture(scope="module")
def many_page(study: ManyRuns, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_many_html(study, tmp_path_factory.mktemp("page") / "compared.html")


@pytest.fixture
def visit(chromium: Any, many_page: Path) -> Iterator[Visit]:
    visited = Visit(chromium, many_page)
    yield visited
    visited.tab.context.close()
    assert visited.complaints == []


def at_turns(visit: Visit, query: str = "") -> Any:
    tab = visit.open(f"#differ{query}")
    tab.locator("#differ").scroll_into_view_if_needed()
    tab.wait_for_selector("#pair:not([hidden])")
    return tab


def told(tab: Any) -> int:
    return int(tab.inner_text("#status").split()[0].replace(",", ""))


def test_it_opens_with_the_packet_and_without_a_pair(visit: Visit) -> None:
    tab = visit.open("")
    assert tab.locator("#pair").is_hidden() and tab.locator("#packet").count() == 1


def test_a_number_of_the_matrix_leads_to_its_turns(visit: Visit, study: ManyRuns) -> None:
    tab = at_turns(visit)
    tab.click("table.pairs tbody tr:nth-child(2) td:nth-child(2) a")  # gold right, `it` wrong
    tab.wait_for_selector("text=that gold has right and it wrong")
    assert told(tab) == study.differences.total("gold", "it")
    assert tab.locator("#turns > li").count() == 8
    tab.click("#more-turns")
    assert tab.locator("#turns > li").count() == 16


def test_filters_by_stressor_and_slot(visit: Visit, study: ManyRuns) -> None:
    tab = at_turns(visit, f"?right=gold&wrong={quote('pepper<i>')}&stressor={quote(TYPOS)}")
    assert told(tab) == study.differences.counts["gold", "pepper<i>"][TYPOS]
    tab.select_option("[name=stressor]", "")
    everywhere = told(tab)
    tab.select_option("[name=slot]", "hotel-na<b>me")
    assert 0 < told(tab) < everywhere
    assert all("hotel-na<b>me" in text for text in tab.locator("#turns > li").all_inner_texts())
    assert "slot=hotel-na" in tab.evaluate("() => location.hash")


@pytest.mark.slow
def test_a_link_to_a_pair_scrolls_there_when_the_page_is_opened(visit: Visit) -> None:
    tab = visit.open("#differ?right=gold&wrong=it")
    tab.wait_for_selector("#turns > li")
    tab.wait_for_timeout(300)
    assert abs(tab.evaluate("() => document.getElementById('differ').getBoundingClientRect().top")) < 100
    line = "p => getComputedStyle(p).textDecorationLine"
    assert tab.locator("#turns > li p").last.evaluate(line) == "none"


@pytest.mark.slow
def test_two_systems_are_shown_turn_by_turn(visit: Visit, study: ManyRuns) -> None:
    tab = at_turns(visit, "?right=gold&wrong=it&stressor=original")
    first = tab.locator("#turns > li").first
    name = first.locator(".meta").inner_text().split(",")[0]
    first.locator("summary").click()
    rows = first.locator("table.dialogue tbody tr")
    run = study.systems.runs["it"]
    (dialogue,) = (one for one in run.variant("original").dialogues() if one.id == name)
    errors = find_errors(run)["original"]
    assert (
        rows.count() == len(dialogue.turns)
        and rows.locator("td:nth-child(2)").all_inner_texts() == ["✓"] * rows.count()
    )
    for number, turn in enumerate(dialogue.turns):
        shown = rows.nth(number).locator("td").last.inner_text()
        wrong = errors.wrong(name, number)
        assert turn.user in rows.nth(number).locator("th").inner_text()
        assert shown == "✓" if not wrong else all(error.slot in shown for error in wrong)
    assert rows.locator("xpath=self::*[@class='here']").count() == 1


def test_nobody_differs_from_himself(visit: Visit) -> None:
    tab = at_turns(visit)
    tab.select_option("[name=right]", "gold")
    tab.select_option("[name=wrong]", "gold")
    assert tab.inner_text("#status") == "Choose two different runs."
    assert tab.locator("#turns > li").count() == 0


def test_systems_sort_by_any_column(visit: Visit) -> None:
    tab = visit.open("")
    names = "table.standings tbody th"
    assert tab.locator(names).first.inner_text().split() == ["gold", "ceiling"]
    tab.click("table.standings thead th:nth-child(2) button")
    assert tab.locator(names).first.inner_text().split() == ["empty", "floor"]


@pytest.mark.parametrize("how", [{"viewport": PHONE}, {"viewport": PHONE, "color_scheme": "dark"}])
def test_a_phone_shows_it_without_scrolling_sideways(chromium: Any, many_page: Path, how: dict[str, Any]) -> None:
    visit = Visit(chromium, many_page, **how)
    tab = at_turns(visit, "?right=gold&wrong=it")
    assert tab.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]
    assert tab.locator("#plot-ranks .narrow").is_visible() and tab.locator("#plot-ranks .wide").is_hidden()
    colors = tab.evaluate("() => [...document.querySelectorAll('.chip')].map(e => getComputedStyle(e).backgroundColor)")
    assert len(set(colors)) == 5
    assert visit.complaints == []
    tab.context.close()


def test_the_same_colour_is_the_same_system_in_table_and_plot(visit: Visit) -> None:
    tab = visit.open("")
    chips = {
        row.inner_text().splitlines()[0]: row.locator(".chip").evaluate("e => getComputedStyle(e).backgroundColor")
        for row in tab.locator("table.standings tbody th").all()
    }
    drawn = "#plot-ranks .wide .role-legend"
    names = tab.locator(f"{drawn}-label text").all_text_contents()
    colors = tab.locator(f"{drawn}-symbol path").evaluate_all("all => all.map(e => getComputedStyle(e).fill)")
    assert dict(zip(names, colors, strict=True)) == chips


@pytest.mark.parametrize("mode", MODES)
def test_axe_has_nothing_to_say(mode: str, chromium: Any, many_page: Path) -> None:
    need("axe")
    visited = Visit(chromium, many_page, **MODES[mode])
    assert violations(at_turns(visited, "?right=gold&wrong=it")) == []
    visited.tab.context.close()


def test_axe_has_nothing_to_say_of_systems_that_do_not_differ(
    chromium: Any, many: list[RunFolder], tmp_path: Path
) -> None:
    """No difference is beyond chance then, and a layer of the plots is empty."""
    need("axe")
    shutil.copytree(many[0].path, tmp_path / "again")
    study = study_runs([many[0], RunFolder.open(tmp_path / "again")], options=ScoringOptions(resamples=100))
    assert study.findings[0].title.endswith("are equal on the original")
    visited = Visit(chromium, write_many_html(study, tmp_path / "compared.html"))
    assert violations(visited.open("")) == []
    visited.tab.context.close()
