"""The page of a stressed corpus says what the corpus says, stays small, and works in a browser from a disk."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue
from dstress.pipeline.stress import describe, stress
from dstress.reports.before_after import BeforeAfter
from dstress.stressors.quality import Quality
from tests.leaderboard.browsing import axe_complaints
from tests.parts import need
from tests.reports.conftest import ATTACK
from tests.reports.test_explorer import at, changed, edited
from tests.reports.visits import Visit, chosen, until

SPECS = ("typos(rate=0.3)", "entities", "schema_noise", "disfluency+entities")


def write(corpus: Corpus, path: Path, *specs: str, budget: int = 8_000_000) -> dict[str, list[Dialogue]]:
    """The page of a corpus under some stressors; gives the stressed dialogues."""
    page, dialogues, descriptions = BeforeAfter(corpus, budget), {}, {}
    for spec in specs:
        stressed = stress(corpus, spec)
        quality, turns = Quality(stressed.stressor), page.stressor(stressed.stressor.spec, stressed.schema)
        dialogues[stressed.stressor.spec] = list(quality.watching(stressed))
        for dialogue in dialogues[stressed.stressor.spec]:
            turns.add(dialogue)
        descriptions[stressed.stressor.spec] = describe(stressed, quality.summary())
    page.write(path, descriptions, "dstress stress ...")
    return dialogues


def packets(path: Path) -> list[Any]:
    found = re.findall(r'class="packet">([^<]*)<', path.read_text("utf-8"))
    return [msgspec.json.decode(gzip.decompress(base64.b64decode(data))) for data in found]


def test_words_labels_and_reasons_come_back_from_the_page(tmp_path: Path) -> None:
    corpus = load("reminder:test", limit=40)
    dialogues = write(corpus, tmp_path / "page.html", *SPECS)
    original, *stressed = packets(tmp_path / "page.html")
    left = 0
    for own, data in zip(dialogues.values(), stressed, strict=True):
        entries = {(entry[0], entry[1]): entry for entry in data["turns"]}
        for place, dialogue in enumerate(own):
            gold: dict[int, str] = {}
            assert original["dialogues"][place][0] == dialogue.id
            for number, turn in enumerate(dialogue.turns):
                system, user, *label = original["dialogues"][place][1][number]
                gold = changed(gold, at(label, 0, []))
                entry = entries.get((place, number), [])
                assert edited(user, at(entry, 2, [])) == turn.user
                assert edited(system, at(entry, 3, [])) == turn.system
                mine = changed(gold, at(entry, 4, []))
                assert {data["slots"][slot]: value.split(" | ")[0] for slot, value in mine.items()} == {
                    slot: forms[0] for slot, forms in turn.state.items()
                }
                reasons = turn.stress.fallbacks if turn.stress else ()
                assert at(entry, 10, "") == "; ".join(dict.fromkeys(reasons))
                left += bool(reasons)
    assert left
    assert stressed[2]["schema"] and "schema" not in stressed[0]


def test_a_page_stays_small_and_says_what_is_left_out(tmp_path: Path) -> None:
    corpus = load("reminder:test", limit=40)
    write(corpus, tmp_path / "all.html", "typos(rate=0.3)")
    write(corpus, tmp_path / "few.html", "typos(rate=0.3)", budget=25_000)
    (_, whole), (_, part) = packets(tmp_path / "all.html"), packets(tmp_path / "few.html")
    assert 0 < len(part["turns"]) < len(whole["turns"]) == len(part["turns"]) + part["left_out"]
    assert f"{part['left_out']} turns are not shown" in (tmp_path / "few.html").read_text("utf-8")
    assert "not shown" not in (tmp_path / "all.html").read_text("utf-8")


def test_of_a_huge_corpus_the_first_dialogues_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dstress.reports.before_after._MOST_CHARACTERS", 2_000)
    write(load("reminder:test", limit=12), tmp_path / "page.html", "typos")
    shown, text = packets(tmp_path / "page.html")[0]["dialogues"], (tmp_path / "page.html").read_text("utf-8")
    assert 0 < len(shown) < 12 and f"the last {12 - len(shown)} dialogues" in text


def test_names_and_words_stay_text(corpus: Corpus, tmp_path: Path) -> None:
    write(corpus, tmp_path / "page.html", "typos")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert ATTACK not in text and "d<i>" not in text


@pytest.mark.slow
@pytest.mark.parametrize("how", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 740}}])
def test_a_person_browses_it(chromium: Any, tmp_path: Path, how: dict[str, Any]) -> None:
    need("axe")
    write(load("reminder:test", limit=40), tmp_path / "page.html", *SPECS)
    visited = Visit(chromium, tmp_path / "page.html", **how)
    tab = visited.open("#explore?stressor=entities")
    assert tab.evaluate("document.documentElement.scrollWidth") <= tab.viewport_size["width"]
    assert tab.locator("#example .states del").count() and tab.locator("#example .focus ins").count()
    everything = chosen(tab)
    tab.select_option("[name=slot]", "trips-origin")
    assert 0 < chosen(tab) < everything and "trips-origin" in tab.inner_text("#example .states")
    tab.select_option("[name=slot]", "")
    tab.select_option("[name=stressor]", "typos(rate=0.3)")
    tab.wait_for_selector("#example .tags:has-text('typos')")
    assert chosen(tab) == everything
    tab.select_option("[name=outcome]", "left")
    reason = tab.inner_text("#example .left-alone").removeprefix("Left alone: ").removesuffix(".")
    tab.select_option("[name=reason]", reason)
    assert chosen(tab) and reason in tab.inner_text("#list")
    assert not tab.locator("#example ins").count()
    tab.select_option("[name=reason]", "")
    tab.select_option("[name=outcome]", "words")
    first = tab.inner_text("#example h3")
    tab.locator("#list button").first.focus()
    tab.keyboard.press("ArrowDown")
    assert tab.inner_text("#example h3") != first
    tab.fill("[name=q]", "brindleford")
    until(tab, lambda status: " of " in status)
    tab.select_option("[name=outcome]", "same")
    tab.select_option("[name=stressor]", "schema_noise")
    tab.wait_for_selector("#example details.schema ins")
    assert "nothing to change" in tab.inner_text("#example .left-alone")
    assert axe_complaints(tab) == [] and visited.complaints == []
    tab.context.close()


@pytest.mark.slow
def test_it_is_saved_as_csv(chromium: Any, tmp_path: Path) -> None:
    write(load("reminder:test", limit=4), tmp_path / "page.html", "entities")
    visited = Visit(chromium, tmp_path / "page.html")
    tab = visited.open()
    with tab.expect_download() as waiting:
        tab.click("#save")
    text = Path(waiting.value.path()).read_text("utf-8")
    assert waiting.value.suggested_filename == "turns.csv"
    assert text.startswith("stressor,dialogue,turn,change,slots,") and ",text and label," in text
    assert json.loads(tab.locator("#meta").text_content())["first"] == "entities"
    tab.context.close()
