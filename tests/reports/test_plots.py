"""Plots are valid specifications, drawn offline, in colours that follow the page."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dstress.reports.charts import (
    ACCENT,
    HEAT,
    INK,
    LOSS,
    NARROW,
    SURFACE,
    WIDE,
    Layout,
    Plot,
    draw_adaptive_svg,
    draw_svg,
    export,
)
from dstress.reports.plots import make_plots
from dstress.runs.folder import RunFolder, Scores

NAMES = ["drops", "profile", "services", "sensitivity", "slots", "metrics"]


@pytest.fixture(scope="module")
def drawn(run: RunFolder) -> dict[str, Plot]:
    return make_plots(run.scores)


def test_a_run_with_stressors_has_every_plot(drawn: dict[str, Plot]) -> None:
    assert list(drawn) == NAMES


@pytest.mark.parametrize("layout", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("name", NAMES)
def test_a_plot_is_a_valid_specification(drawn: dict[str, Plot], name: str, layout: Layout) -> None:
    assert drawn[name].chart(layout).to_dict(validate=True)["$schema"]


@pytest.mark.parametrize("layout", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("name", NAMES)
def test_in_a_page_every_colour_follows_the_page(drawn: dict[str, Plot], name: str, layout: Layout) -> None:
    page = draw_adaptive_svg(drawn[name], layout)
    assert ElementTree.fromstring(page).tag.endswith("svg")
    bare = re.sub(r"var\(--plot-\w+, #\w{6}\)", "", page)
    assert not re.findall(r"#[0-9a-fA-F]{6}\b|rgb\(", bare)
    assert not re.match(r"<svg[^>]* width=", page)
    shown = float(re.search(r'viewBox="0 0 ([\d.]+)', page)[1])  # type: ignore[index]
    assert shown < 400 if layout.narrow else 500 < shown < 1000


def test_a_narrow_plot_shows_names_of_stressors(drawn: dict[str, Plot]) -> None:
    assert "entities" in draw_adaptive_svg(drawn["drops"], NARROW)


def test_names_cannot_bring_markup_along(drawn: dict[str, Plot]) -> None:
    for name in ("slots", "drops"):
        assert "<b>" not in draw_svg(drawn[name])
    assert "hotel-na&lt;b&gt;me" in draw_svg(drawn["slots"])


def test_a_plot_is_exported_as_svg_png_and_specification(drawn: dict[str, Plot], tmp_path: Path) -> None:
    files = export(drawn["drops"], tmp_path / "figures")
    assert [file.name for file in files] == ["drops.svg", "drops.png", "drops.vl.json"]
    assert files[0].read_text().startswith("<svg")
    assert "var(" not in files[0].read_text()
    assert files[1].read_bytes().startswith(b"\x89PNG")


def test_without_stressors_there_is_nothing_to_plot(run: RunFolder) -> None:
    assert make_plots(Scores({"original": run.scores.variants["original"]})) == {}


def luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


def test_colours_can_be_told_apart_without_hue() -> None:
    """Text and marks stand out from the ground by lightness alone, and so do the steps of the heat map's losses."""
    assert contrast(INK, SURFACE) > 12
    assert min(contrast(ACCENT, SURFACE), contrast(LOSS, SURFACE)) > 4.5
    losses = [luminance(color) for color in HEAT[:6]]
    assert losses == sorted(losses)


def test_a_plot_that_could_show_nothing_is_not_made(run: RunFolder) -> None:
    """Every stressor scores as the original does."""
    scores = run.scores
    original = scores.variants["original"]
    same = Scores({"original": original, "one": original, "two": original}, drops=scores.drops)
    assert list(make_plots(same)) == ["drops", "profile"]
