"""The page that judges fill in: in a real browser, and back as a sheet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dstress.analysis.human_check.page import make_instructions, make_page
from dstress.analysis.human_check.verdict import read_sheet

ATTACK = '</script><script>document.title = "broken"</script><b>"x", y</b>'
ROWS = [
    ("ab12-001", "user: hello", "when?", ATTACK, "hotel day: friday", "", ""),
    ("ab12-002", "", "", "=1+1, 中文", "nothing new", "", ""),
]


def test_instructions_name_the_files() -> None:
    told = make_instructions(200, "judge")
    assert "200 items" in told and "judge.csv" in told and "judge.html" in told and "{" not in told


def test_a_judge_answers_and_saves(chromium: Any, tmp_path: Path) -> None:
    (tmp_path / "judge.html").write_text(make_page(ROWS), encoding="utf-8")
    tab = chromium.new_context(accept_downloads=True).new_page()
    complaints: list[str] = []
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("console", lambda message: complaints.append(message.text))
    tab.goto((tmp_path / "judge.html").as_uri())
    assert tab.title() == "Judge utterances" and ATTACK in tab.inner_text("main")
    for name in ("ab12-001 human_like", "ab12-001 correct", "ab12-002 correct"):
        answer = "no" if name == "ab12-001 correct" else "yes"
        tab.locator(f'input[name="{name}"]').nth(["yes", "no"].index(answer)).check()
    assert tab.inner_text("#done") == "3 of 4 answers"
    with tab.expect_download() as waiting:
        tab.click("#save")
    waiting.value.save_as(tmp_path / "judged.csv")
    found = read_sheet(tmp_path / "judged.csv", ["ab12-001", "ab12-002"], ("human_like", "correct"))
    assert found == {"ab12-001": {"human_like": True, "correct": False}, "ab12-002": {"correct": True}}
    assert complaints == []
