"""Numbers, cells and points lead to their turns: as many of them as they say, and no others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from dstress.runs.folder import ORIGINAL, RunFolder
from dstress.runs.scores import find_errors
from tests.reports.visits import Visit, chosen

TYPOS = "typos(rate=0.2)"


def follow(visit: Visit, link: str) -> Any:
    """Open the page at a link's address, and wait for the explorer."""
    visit.tab.goto("about:blank")
    visit.complaints.clear()  # about:blank is no address of the page's
    visit.tab.goto(visit.address + link)
    visit.tab.wait_for_selector("#explorer:not([hidden])")
    return visit.tab


def wrong(run: RunFolder, variant: str, slot: str) -> set[tuple[str, int]]:
    """The turns in which a slot is wrong."""
    errors = find_errors(run)[variant]
    return {turn for turn, found in errors.items() if any(e.slot == slot and not e.is_right for e in found)}


def test_counts_of_slots_lead_to_as_many_turns(visit: Visit) -> None:
    tab = visit.open("#slots")
    links = tab.locator("#slots tbody a").evaluate_all("all => all.map(a => [a.getAttribute('href'), a.textContent])")
    counts = [(link, int(text)) for link, text in links if re.search("error=(missed|wrong|extra)", link)]
    assert len(counts) == 12 and sum(number for _, number in counts) > 20
    for link, number in counts:
        assert chosen(follow(visit, link)) == number, link


def test_a_cell_of_the_heat_map_leads_to_what_became_wrong(visit: Visit, run: RunFolder) -> None:
    tab = visit.open("#slots")
    cell = tab.locator("#plot-slot-stressors .wide .mark-rect a", has_text="hotel-area under typos")
    assert f"typos ({TYPOS})" in (cell.text_content() or "")
    cell.click()
    tab.wait_for_selector("#example header")
    fields = {name: tab.input_value(f"[name={name}]") for name in ("stressor", "slot", "error")}
    assert fields == {"stressor": TYPOS, "slot": "hotel-area", "error": "new"}
    turns = wrong(run, TYPOS, "hotel-area") - wrong(run, ORIGINAL, "hotel-area")
    assert chosen(tab) == len(turns) > 0
    fixed = wrong(run, ORIGINAL, "hotel-area") - wrong(run, TYPOS, "hotel-area")
    link = f"#explore?stressor={quote(TYPOS)}&slot=hotel-area&error=fixed"
    assert chosen(follow(visit, link)) == len(fixed) > 0


def test_a_service_stands_for_all_of_its_slots(visit: Visit, run: RunFolder) -> None:
    slots = ("taxi-destination", "taxi-leave at")
    turns = set.union(*(wrong(run, "entities", slot) for slot in slots))
    tab = follow(visit, "#explore?stressor=entities&slot=taxi-*")
    assert chosen(tab) == len(turns) > 0
    assert tab.locator("[name=slot] option:checked").inner_text() == "taxi: any slot"


def test_every_pair_of_gold_and_answer_leads_to_as_many_turns(visit: Visit) -> None:
    tab = visit.open("#confusion")
    tab.select_option("[name=picked]", "taxi-leave at")
    links = tab.locator("#confusions a").evaluate_all("all => all.map(a => [a.getAttribute('href'), a.textContent])")
    assert len(links) >= 4
    for link, text in links:
        assert chosen(follow(visit, link)) == int(text), link


def test_the_pairs_of_a_slot_are_all_of_its_errors(visit: Visit, run: RunFolder) -> None:
    """Where all pairs fit, their counts are those of the scores."""
    tab = visit.open("#confusion")
    tab.select_option("[name=picked]", "hotel-area")
    heads = tab.locator("#confusions thead th").all_inner_texts()
    assert heads == ["gold", "answer", "original", "typos", "entities", "entities+disfluency"]
    for column, variant in enumerate(run.variants, start=3):
        cells = tab.locator(f"#confusions tbody tr > :nth-child({column})").all_inner_texts()
        errors = run.scores.variants[variant].slots["hotel-area"]
        assert sum(int(cell) for cell in cells if cell != "–") == errors.missed + errors.wrong + errors.extra


def test_every_link_of_the_page_leads_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    ids = set(re.findall(r'id="([\w-]+)"', text))
    links = list(re.findall(r'<a [^>]*href="#([^"]*)"', text))
    assert len(links) > 50
    variants = set()
    for link in links:
        place, _, query = link.replace("&amp;", "&").partition("?")
        assert place in ids
        variants |= set(parse_qs(query).get("stressor", []))
    assert variants == {ORIGINAL, TYPOS, "entities", "entities+disfluency"}


def test_the_explorer_calls_stressors_as_the_table_does(visit: Visit) -> None:
    tab = visit.open()
    names = [re.sub(r" \([\d,]+\)$", "", name) for name in tab.locator("[name=stressor] option").all_inner_texts()]
    assert names == ["all", "original", f"typos · {TYPOS}", "entities", "entities+disfluency"]
    tab.select_option("[name=stressor]", "entities")
    tab.wait_for_selector("th:has-text('answer, entities')")


def test_a_link_to_where_one_is_leads_there_again(visit: Visit) -> None:
    tab = visit.open("#cost")
    link = tab.locator("#cost tbody a").first
    link.click()
    tab.wait_for_selector("#example header")
    address = tab.evaluate("location.hash")
    tab.locator("#cost").scroll_into_view_if_needed()
    link.click()
    tab.wait_for_timeout(1000)
    assert tab.locator("#explore h2").evaluate("h => h.getBoundingClientRect().top") < 300
    assert tab.evaluate("location.hash") == address
