from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

import dstress
from dstress.errors import DstressError
from dstress.reports.label import draw_label, write_label
from dstress.reports.numbers import PAGE
from dstress.runs.folder import RunFolder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    corpus = dstress.load("reminder:test")[:8]
    return dstress.evaluate(
        "quick", "rules", corpus, tmp_path_factory.mktemp("label") / "run", only=("typos", "disfluency"), report=False
    )


def test_it_says_what_the_run_has_measured(run: RunFolder) -> None:
    root = ElementTree.fromstring(draw_label(run))
    texts = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    original = run.scores.variants["original"].metrics["jga"]
    assert {"rules", "reminder:test, the first 8 dialogues", f"{PAGE.percent(original.value)} %"} <= set(texts)
    order = sorted(run.scores.drops, key=lambda spec: run.scores.drops[spec].difference)
    assert [text for text in texts if text in order] == order
    for drop in run.scores.drops.values():
        assert {PAGE.points(drop.difference), PAGE.change_interval(drop.low, drop.high)} <= set(texts)
    assert "".join(texts[-2:]).endswith(original.signature)


@pytest.mark.parametrize(("ending", "start"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".html", b"<!doctype html>")])
def test_the_ending_says_which_format(run: RunFolder, ending: str, start: bytes, tmp_path: Path) -> None:
    assert write_label(run, tmp_path / f"label{ending}").read_bytes().startswith(start)


def test_another_ending_is_refused(run: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(DstressError, match=r"\.svg, \.png, \.html"):
        write_label(run, tmp_path / "label.pdf")
    assert not list(tmp_path.iterdir())
