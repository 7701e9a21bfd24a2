"""Judges' sheets and the verdict on them."""

from __future__ import annotations

from pathlib import Path

import krippendorff
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.errors import DstressError
from dstress.studies.human_check.questions import goal_in_words
from dstress.studies.human_check.verdict import judge, krippendorff_alpha, majority_share, read_sheet, wilson_interval

QUESTIONS = ("human_like", "correct")
VOTES = st.lists(st.lists(st.booleans(), max_size=5), max_size=12)


def sheet(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_sheet_is_read_as_spreadsheets_save_it(tmp_path: Path, mark: str) -> None:
    rows = [
        ("Item", "user", "Correct", "HUMAN_LIKE", "remarks"),
        ("b", "hi", " Yes ", "0", "odd"),
        ("a", "x", "n", "", ""),
    ]
    text = "\ufeff" + "\r\n".join(mark.join(row) for row in rows) + "\r\n\r\n" + mark * 4 + "\r\n"
    answers = read_sheet(sheet(tmp_path / "s.csv", text), ["a", "b", "c"], QUESTIONS)
    assert answers == {"b": {"correct": True, "human_like": False}, "a": {"correct": False}}


HEAD = "item,user,human_like,correct\n"
BAD = [
    ("", "line 1", "no column 'item'"),
    ("item,human_like\na,1\n", "line 1", "no column 'correct'"),
    ("item,correct,correct,human_like\n", "line 1", "two columns are 'correct'"),
    (HEAD + "a,x,yes,no\nz,x,yes,no\n", "line 3", "no item 'z'"),
    (HEAD + 'a,"two\nlines",yes,no\na,x,yes,no\n', "line 4", "a is there twice"),
    (HEAD + "a,x,yes\n", "line 2", "3 columns in place of 4"),
    (HEAD + "a,x,maybe,no\n", "line 2", "human_like is 'maybe'"),
    (HEAD + "a,x,yes,no\0\n", "", "correct is|no CSV"),
]


@pytest.mark.parametrize(("text", "line", "problem"), BAD)
def test_a_malformed_sheet_is_told_with_its_line(tmp_path: Path, text: str, line: str, problem: str) -> None:
    with pytest.raises(DstressError, match=problem) as raised:
        read_sheet(sheet(tmp_path / "s.csv", text), "ab", QUESTIONS)
    assert raised.value.where.startswith(f"{tmp_path / 's.csv'}{', ' if line else ''}{line}") and raised.value.fix


def test_a_sheet_in_another_encoding_is_told(tmp_path: Path) -> None:
    with pytest.raises(DstressError, match="not UTF-8"):
        read_sheet(sheet(tmp_path / "s.csv", HEAD + "a,café,1,1\n", "latin-1"), "a", QUESTIONS)
    with pytest.raises(DstressError, match="No such file"):
        read_sheet(tmp_path / "none.csv", "a", QUESTIONS)


def test_the_majority_decides() -> None:
    yes, no = True, False
    share = majority_share([[yes, yes, no], [yes, no, no], [yes, no], [], [yes]])
    assert (share.yes, share.decided, share.tied, share.unjudged) == (2, 3, 1, 1) and share.value == 2 / 3
    assert majority_share([[]]).value is None


def test_wilson_s_interval_is_his() -> None:
    assert wilson_interval(87, 100) == pytest.approx((0.7902, 0.9224), abs=1e-4)
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)


@given(st.integers(1, 200).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_wilson_s_interval_holds_the_share(counts: tuple[int, int]) -> None:
    low, high = wilson_interval(*counts)
    assert 0 <= low <= counts[0] / counts[1] + 1e-12 and counts[0] / counts[1] <= high + 1e-12 <= 1 + 1e-9


def test_alpha_is_krippendorff_s() -> None:
    """Two judges, ten items, binary: alpha is 0.095 in his worked example (computing Krippendorff's alpha, 2011, A)."""
    first = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    second = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert krippendorff_alpha([[bool(a), bool(b)] for a, b in zip(first, second, strict=True)]) == pytest.approx(
        0.095, abs=5e-4
    )


@given(VOTES)
def test_alpha_is_one_only_in_full_agreement(votes: list[list[bool]]) -> None:
    alpha = krippendorff_alpha(votes)
    paired = [item for item in votes if len(item) > 1]
    if alpha is None:
        assert len({vote for item in paired for vote in item}) < 2
    else:
        assert alpha <= 1 and (alpha == 1) == all(len(set(item)) == 1 for item in paired)
        assert krippendorff_alpha([[not vote for vote in item] for item in votes]) == pytest.approx(alpha)


def test_the_verdict_is_by_variant() -> None:
    sheets = {
        "anna": {"1": {"human_like": True, "correct": True}, "2": {"human_like": False}},
        "ben": {"1": {"human_like": True}, "2": {"human_like": False, "correct": False}},
    }
    verdict = judge(sheets, {question: {"original": ["1"], "values": ["2", "3"]} for question in QUESTIONS})
    assert list(verdict.variants) == ["original", "values"] and verdict.items == 3
    share = verdict.variants["values"]["human_like"]
    assert share.value == 0.0 and share.unjudged == 1
    assert verdict.agreement == {"human_like": 1.0, "correct": None}
    assert verdict.missing == {"anna": {"human_like": 1, "correct": 2}, "ben": {"human_like": 1, "correct": 2}}


def test_an_item_may_stand_for_two_and_is_judged_once() -> None:
    """What looks the same under two variants is one item: both get its answer, agreement counts it once."""
    sheets = {"anna": {"1": {"correct": True}, "2": {"correct": True}}, "ben": {"1": {"correct": True}, "2": {}}}
    verdict = judge(sheets, {"correct": {"one": ["1"], "other": ["1", "2"]}, "appropriate": {"other": ["2"]}})
    assert verdict.variants["one"]["correct"].value == verdict.variants["other"]["correct"].value == 1
    assert verdict.items == 2 and "appropriate" not in verdict.variants["one"]
    assert verdict.missing == {"anna": {"correct": 0, "appropriate": 1}, "ben": {"correct": 1, "appropriate": 1}}


@given(st.lists(st.lists(st.sampled_from([True, False, None]), min_size=3, max_size=3), min_size=1, max_size=15))
def test_alpha_is_that_of_another_implementation(table: list[list[bool | None]]) -> None:
    """Three judges, some answers missing: the package `krippendorff` says the same."""
    ours = krippendorff_alpha([[vote for vote in item if vote is not None] for item in table])
    if ours is not None:
        rows = [[float("nan") if item[judge] is None else float(item[judge]) for item in table] for judge in range(3)]
        assert ours == pytest.approx(krippendorff.alpha(rows, level_of_measurement="nominal"))


def test_a_goal_is_told_in_words() -> None:
    change = {"hotel-book day": ("friday", "fri"), "train-arriveby": (), "Buses_1-fare_type": ("dontcare",)}
    words = "hotel book day: friday; train arrive by: no longer wanted; Buses 1 fare type: any will do"
    assert goal_in_words(change) == words and goal_in_words({}) == "nothing new"
