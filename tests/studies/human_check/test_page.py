"""The page that judges fill in: in a real browser, and back as a sheet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dstress.studies.human_check.sheets import make_instructions, make_page
from dstress.studies.human_check.verdict import read_sheet
from tests.leaderboard.browsing import axe_complaints
from tests.parts import need

ATTACK = '</script><script>document.title = "broken"</script><b>"x", y</b>'
ROWS = [
    ("ab12-001", "user: hello", "when?", ATTACK, "hotel day: friday", "", ""),
    ("ab12-002", "", "", "=1+1, 中文", "nothing new", "", ""),
]


def test_instructions_name_the_files() -> None:
    told = make_instructions(200, "judge")
    assert "200 items" in told and "judge.csv" in told and "judge.html" in told and "{" not in told


class Judge:
    """A judge at the page in a browser that others have used before."""

    def __init__(self, context: Any, page: Path, name: str) -> None:
        self.tab = context.new_page()
        self.complaints: list[str] = []
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("dialog", lambda dialog: dialog.accept())
        self.tab.goto(page.as_uri())
        self.tab.fill("#name", name)
        self.tab.keyboard.press("Enter")

    def answer(self, name: str, answer: str) -> None:
        self.tab.locator(f'input[name="{name}"]').nth(["yes", "no"].index(answer)).check()

    @property
    def done(self) -> str:
        return str(self.tab.inner_text("#done"))


@pytest.fixture
def page(tmp_path: Path) -> Path:
    (tmp_path / "judge.html").write_text(make_page(ROWS), encoding="utf-8")
    return tmp_path / "judge.html"


@pytest.fixture
def context(chromium: Any) -> Iterator[Any]:
    opened = chromium.new_context(accept_downloads=True)
    yield opened
    opened.close()


def test_a_judge_answers_and_saves(context: Any, page: Path, tmp_path: Path) -> None:
    judge = Judge(context, page, "Anna B.")
    assert judge.tab.title() == "Judge utterances" and ATTACK in judge.tab.inner_text("main")
    for name in ("ab12-001 human_like", "ab12-001 correct", "ab12-002 correct"):
        judge.answer(name, "no" if name == "ab12-001 correct" else "yes")
    assert judge.done == "3 of 4 answers"
    with judge.tab.expect_download() as waiting:
        judge.tab.click("#save")
    assert waiting.value.suggested_filename == "judged-Anna-B-.csv"
    waiting.value.save_as(tmp_path / "judged.csv")
    found = read_sheet(tmp_path / "judged.csv", ["ab12-001", "ab12-002"], ("human_like", "correct"))
    assert found == {"ab12-001": {"human_like": True, "correct": False}, "ab12-002": {"correct": True}}
    assert judge.complaints == []


def test_a_second_judge_does_not_see_the_first_one_s_answers(context: Any, page: Path) -> None:
    first = Judge(context, page, "anna")
    first.answer("ab12-001 correct", "yes")
    second = Judge(context, page, "ben")
    assert second.done == "0 of 4 answers" and not second.tab.locator("#shown input:checked").count()
    second.answer("ab12-001 correct", "no")
    assert Judge(context, page, "anna").tab.locator("#shown input:checked").get_attribute("value") == "yes"


def test_keys_answer_clear_and_jump(context: Any, page: Path) -> None:
    judge = Judge(context, page, "anna")
    need("axe")
    assert axe_complaints(judge.tab) == []
    focused = lambda: judge.tab.evaluate("document.activeElement.id")  # noqa: E731
    assert focused() == "ab12-001"
    judge.tab.keyboard.press("1")
    judge.tab.keyboard.press("4")
    assert judge.done == "2 of 4 answers"
    assert judge.tab.locator('input[name="ab12-001 correct"][value="no"]').is_checked()
    judge.tab.keyboard.press("u")
    assert focused() == "ab12-002"
    judge.tab.keyboard.press("k")
    judge.tab.keyboard.press("x")
    assert judge.done == "0 of 4 answers" and focused() == "ab12-001"
    judge.tab.keyboard.press("2")
    judge.tab.click("#clear")
    assert judge.done == "0 of 4 answers" and Judge(context, page, "anna").done == "0 of 4 answers"
    assert judge.complaints == []
