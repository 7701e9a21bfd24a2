"""The page in a real browser, from file://: filters, sorting, links, dark mode, a phone; no error and no request."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from dstress.corpora.base import Corpus
from dstress.pipeline.evaluate import evaluate
from dstress.reports.html import write_html
from dstress.runs.folder import RunFolder
from dstress.runs.scores import find_errors
from dstress.runs.suites import Suite
from tests.reports.conftest import ARABIC, ATTACK, SCHEMA, Shaky
from tests.reports.visits import Visit, chosen, until

TYPOS = "typos(rate=0.2)"
PHONE = {"width": 360, "height": 740}


def outcomes(tab: Any) -> list[str]:
    return list(tab.locator("#list .outcome").all_inner_texts())


def test_the_page_opens_without_unpacking_and_unpacks_when_one_gets_there(visit: Visit) -> None:
    tab = visit.open("#summary")
    assert tab.locator("#explorer").is_hidden()
    packets = tab.locator("script.packet").count()
    tab.locator("#explore").scroll_into_view_if_needed()
    tab.wait_for_selector("#example header")
    assert tab.locator("script.packet").count() == packets - 2


def test_filters_by_stressor_outcome_error_and_slot(visit: Visit) -> None:
    tab = visit.open()
    everything = chosen(tab)
    tab.select_option("[name=outcome]", "broke")
    assert 0 < chosen(tab) < everything
    assert set(outcomes(tab)) == {"right → wrong"}
    tab.select_option("[name=outcome]", "")
    tab.select_option("[name=error]", "missed")
    tab.select_option("[name=slot]", "hotel-area")
    assert chosen(tab) > 0
    assert "missed" in tab.inner_text("#example .states")
    tab.select_option("[name=error]", "")
    tab.select_option("[name=slot]", "")
    tab.select_option("[name=stressor]", "")
    until(tab, lambda status: status.endswith("examples") and int(status.split()[0].replace(",", "")) > everything)
    tab.select_option("[name=outcome]", "failed")
    assert "timed out" in tab.inner_text("#example .failure")


def test_every_outcome_is_counted_once(visit: Visit) -> None:
    tab = visit.open()
    everything, parts = chosen(tab), 0
    for outcome in ("broke", "fixed", "wrong", "right", "failed"):
        tab.select_option("[name=outcome]", outcome)
        parts += chosen(tab)
    assert parts == everything


def test_search_finds_words_of_any_script(visit: Visit) -> None:
    tab = visit.open()
    everything = chosen(tab)
    tab.fill("[name=q]", ARABIC.split()[0])
    until(tab, lambda status: " of " in status)
    assert 0 < chosen(tab) < everything
    tab.fill("[name=q]", "nothing says this")
    tab.wait_for_selector("text=No example is like this.")
    assert tab.inner_text("#example") == ""


@pytest.mark.slow
def test_what_is_searched_for_is_marked(visit: Visit) -> None:
    hits = "() => [...(CSS.highlights.get('hit') ?? [])].map(range => range.toString().toLowerCase())"
    tab = visit.open()
    assert tab.evaluate(hits) == []
    word = ARABIC.split()[0]
    tab.fill("[name=q]", word)
    until(tab, lambda status: " of " in status)
    assert set(tab.evaluate(hits)) == {word}


@pytest.mark.slow
def test_pointing_near_a_mark_says_what_it_is(visit: Visit) -> None:
    tab = visit.open("")  # a page that scrolls to a section hides the hint
    plot = tab.locator("#plot-drops .wide svg")
    told = plot.locator("title").all_text_contents()
    mark = plot.locator("title").first.evaluate("title => title.parentNode.getBoundingClientRect().toJSON()")
    x, y = mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2
    tab.mouse.move(x, y + 30)
    tab.mouse.move(x, y + 6)
    assert tab.inner_text(".tip") == told[0] and "points" in told[0]
    tab.mouse.move(5, 5)
    assert tab.locator(".tip").is_hidden() and plot.locator("title").all_text_contents() == told


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "start"), [("SVG", b"<svg"), ("PNG", b"\x89PNG"), ("PDF", b"%PDF")])
def test_a_plot_is_downloaded_from_the_page(visit: Visit, kind: str, start: bytes) -> None:
    tab = visit.open("#summary")
    with tab.expect_download() as download:
        tab.locator("#plot-drops .csv > *", has_text=kind).click()
    assert download.value.suggested_filename == f"drops.{kind.lower()}"
    content = Path(download.value.path()).read_bytes()
    assert content.startswith(start) and b"var(" not in content


@pytest.mark.slow
def test_the_first_screen_has_plot_broken_turn_and_findings(chromium: Any, page: Path) -> None:
    visited = Visit(chromium, page, viewport={"width": 1280, "height": 800})
    tab = visited.open("")
    for part in ("#plot-drops .wide svg", ".broken thead", ".cards > div:nth-child(4)", ".findings li:first-child"):
        place = tab.locator(part).bounding_box()
        assert place["y"] + place["height"] < 800, part
    assert tab.locator(".findings details[open]").count() == 0
    tab.context.close()


def test_order_by_edits(visit: Visit) -> None:
    tab = visit.open()
    tab.select_option("[name=order]", "edits")
    counts = [tab.locator(f"#list li:nth-child({n}) ins").count() for n in range(1, 20)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]


def test_edits_are_marked_where_they_are_also_behind_emoji(visit: Visit, run: RunFolder) -> None:
    dialogues = list(run.variant(TYPOS).dialogues())
    turns = [(d.id, n, turn) for d in dialogues for n, turn in enumerate(d.turns) if turn.changed and "😀" in turn.user]
    dialogue, number, turn = turns[0]
    place = quote(f"{TYPOS}/{dialogue}/{number + 1}", safe="")
    tab = visit.open(f"#explore?stressor={quote(TYPOS)}&at={place}")
    words = tab.evaluate(
        "() => [...document.querySelector('#example .focus').childNodes].slice(1)"
        ".filter(node => node.nodeName !== 'DEL').map(node => node.textContent).join('')"
    )
    assert words == turn.user
    assert tab.locator("#example .focus del").count() > 0


def test_a_link_leads_back_to_its_example(visit: Visit, chromium: Any, page: Path) -> None:
    tab = visit.open()
    tab.select_option("[name=outcome]", "broke")
    tab.locator("#list button").nth(1).click()
    title, address = tab.inner_text("#example h3"), tab.evaluate("location.hash")
    assert tab.get_attribute("#example .copy", "href") == address
    again = Visit(chromium, page)
    other = again.open(address)
    assert other.inner_text("#example h3") == title
    assert other.input_value("[name=outcome]") == "broke"
    assert again.complaints == []
    again.tab.context.close()


def test_a_link_to_nothing_says_so(visit: Visit) -> None:
    tab = visit.open("#explore?at=typos/nowhere/1")
    assert "typos/nowhere/1 is not among them" in tab.inner_text("#status")


def test_one_steps_from_example_to_example(visit: Visit) -> None:
    tab = visit.open()
    first = tab.inner_text("#example h3")
    tab.click("#example [aria-label='the next example']")
    assert tab.inner_text("#example h3") != first
    tab.click("#example [aria-label='the example before']")
    assert tab.inner_text("#example h3") == first


def test_the_history_is_the_one_the_tracker_saw(visit: Visit, run: RunFolder) -> None:
    """Under a stressor of the whole dialogue, then one of single turns: names changed before, words as they were."""
    variant = "entities+disfluency"
    dialogue = next(d for d in run.variant(variant).dialogues() if d.turns[3].changed and d.turns[2].changed)
    tab = visit.open(f"#explore?stressor={quote(variant)}&at={quote(f'{variant}/{dialogue.id}/4')}")
    tab.locator("#example .talk button").click()
    words = tab.evaluate(
        "() => [...document.querySelectorAll('#example .talk p.user')].map(p => [...p.childNodes].slice(1)"
        ".filter(node => node.nodeName !== 'DEL').map(node => node.textContent).join(''))"
    )
    assert words[:3] == [turn.remembered.user for turn in dialogue.turns[:3]]
    assert words[3] == dialogue.turns[3].user


def test_a_turn_under_another_schema_shows_what_its_services_write_otherwise(
    chromium: Any, corpus: Corpus, tmp_path: Path
) -> None:
    run = evaluate(Suite("names", stressors=("schema_noise",)), Shaky(), corpus, tmp_path / "run")
    visited = Visit(chromium, write_html(run, find_errors(run)))
    tab = visited.open("#explore?stressor=schema_noise")
    rows = tab.locator("#example details.schema tbody tr").all_inner_texts()
    new = list(run.variant("schema_noise").schema.slots)
    assert len(rows) == 4 and all(
        f"{old} {name}" in row for old, name, row in zip(SCHEMA.slots, new, rows, strict=True)
    )
    tab.select_option("[name=stressor]", "original")
    tab.wait_for_selector("#example header")
    assert tab.locator("#example details.schema").count() == 0
    tab.context.close()
    assert visited.complaints == []


def test_markup_in_dialogues_stays_text(visit: Visit) -> None:
    tab = visit.open("#explore?stressor=")
    tab.fill("[name=q]", "</script>")
    until(tab, lambda status: " of " in status)
    assert ATTACK in tab.inner_text("#example")
    assert tab.evaluate("window.hacked === undefined && !document.querySelector('main img')")


def test_even_a_script_that_got_in_would_not_run(chromium: Any, page: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    broken.write_text(page.read_text("utf-8").replace("<main>", f"<main>{ATTACK}"), "utf-8")
    visited = Visit(chromium, broken)
    tab = visited.open("#summary")
    tab.wait_for_timeout(100)
    assert tab.evaluate("window.hacked === undefined")
    assert any("Content Security Policy" in complaint for complaint in visited.complaints)
    tab.context.close()


def test_tables_sort_by_number_and_back(visit: Visit) -> None:
    tab = visit.open("#cost")
    head = tab.locator("#cost th", has_text="JGA %").locator("button")
    head.click()
    values = [float(cell) for cell in tab.locator("#cost tbody td:nth-child(2)").all_inner_texts()]
    assert values == sorted(values)
    head.click()
    values = [float(cell) for cell in tab.locator("#cost tbody td:nth-child(2)").all_inner_texts()]
    assert values == sorted(values, reverse=True)
    assert tab.locator("#cost th[aria-sort=descending]").count() == 1


def test_dark_mode_turns_page_and_plots_dark(chromium: Any, page: Path) -> None:
    lightness = "element => getComputedStyle(element).{}.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0) / 3"
    seen = {}
    for scheme in ("light", "dark"):
        visited = Visit(chromium, page, color_scheme=scheme)
        tab = visited.open("#cost")
        ground = tab.locator("body").evaluate(lightness.format("backgroundColor"))
        letters = tab.locator("#plot-drops .wide svg text").first.evaluate(lightness.format("fill"))
        seen[scheme] = (ground, letters)
        assert visited.complaints == []
        tab.context.close()
    assert seen["light"][0] > 200 > 100 > seen["light"][1]
    assert seen["dark"][0] < 60 < 150 < seen["dark"][1]


def test_on_a_phone_nothing_is_wider_than_the_screen(chromium: Any, page: Path) -> None:
    visited = Visit(chromium, page, viewport=PHONE, is_mobile=True, has_touch=True)
    tab = visited.open()
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert tab.locator("#plot-drops .narrow").is_visible()
    assert tab.locator("#plot-drops .wide").is_hidden()
    size = tab.locator("#plot-drops .narrow text").first.evaluate("text => text.getBoundingClientRect().height")
    assert size > 9
    tab.locator("#list button").nth(2).tap()
    assert tab.locator("#example header").is_visible()
    assert visited.complaints == []
    tab.context.close()


def test_it_prints_in_light_colours_without_the_explorer(chromium: Any, page: Path) -> None:
    visited = Visit(chromium, page, color_scheme="dark")
    tab = visited.open("#summary")
    tab.emulate_media(media="print")
    assert tab.locator("#explore").is_hidden()
    assert tab.locator("body").evaluate("body => getComputedStyle(body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(tab.pdf()) > 10_000
    tab.context.close()


def test_an_old_browser_is_told_plainly(chromium: Any, page: Path) -> None:
    visited = Visit(chromium, page)
    visited.tab.add_init_script("delete window.DecompressionStream")
    tab = visited.open("#summary")
    tab.locator("#explore").scroll_into_view_if_needed()
    tab.wait_for_selector("text=This browser cannot unpack the examples")
    assert visited.complaints == []
    tab.context.close()
