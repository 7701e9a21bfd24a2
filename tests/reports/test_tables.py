"""A table shows what data says as text, in every form."""

from __future__ import annotations

import pytest

from dstress.reports.tables import Table, latex, markdown

HOSTILE = "a|b `x` <script>alert(1)</script>\nnew [l](javascript:x) &lt; *b* \\"


def test_markdown_shows_cells_as_they_are() -> None:
    table = Table(("slot", "#p"), [(HOSTILE, "<0.001")], "of <b>it</b>")
    shown = r"a\|b \`x\` \<script>alert(1)\</script> new [l\](javascript:x) \&lt; \*b\* \\"
    assert markdown(table) == f"| slot | p |\n| --- | ---: |\n| {shown} | <0.001 |\n\nof \\<b>it\\</b>\n"


@pytest.mark.parametrize("text", ["[48.44, 72.11]", "<0.0030", "hotel-book_day", "typos(rate=0.1)", "ss(jga)", "-8.89"])
def test_markdown_leaves_alone_what_means_nothing_to_it(text: str) -> None:
    assert f"| {text} |" in markdown(Table(("x",), [(text,)]))


def test_other_forms_hold_no_markup_of_the_data() -> None:
    table = Table(("slot",), [(HOSTILE,)], HOSTILE)
    assert "<script>" not in table._repr_html_() and "<script>" not in latex(table)
