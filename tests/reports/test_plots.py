"""Plots are valid specifications, drawn offline, in colours that follow the page."""

from __future__ import annotations

import re
from bisect import bisect_right
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from dstress.reports.charts import (
    ABOUT,
    ACCENT,
    HEAT,
    INK,
    LOSS,
    NARROW,
    SEE,
    SURFACE,
    WIDE,
    Layout,
    Plot,
    draw,
    draw_adaptive_svg,
    draw_svg,
    export,
    to_pdf,
)
from dstress.reports.heatmaps import STEPS, heat_chart
from dstress.reports.plots import make_plots
from dstress.reports.variant_names import variant_names
from dstress.runs.folder import RunFolder, Scores

NAMES = ["drops", "profile", "services", "sensitivity", "slot-stressors", "slots", "metrics"]


@pytest.fixture(scope="module")
def drawn(run: RunFolder) -> dict[str, Plot]:
    return make_plots(run.scores)


def test_a_run_with_stressors_has_every_plot(drawn: dict[str, Plot]) -> None:
    assert list(drawn) == NAMES


@pytest.mark.parametrize("layout", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("name", NAMES)
def test_a_plot_is_a_valid_specification(drawn: dict[str, Plot], name: str, layout: Layout) -> None:
    assert drawn[name].chart(layout).to_dict(validate=True)["$schema"]


@pytest.mark.slow
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
    assert [file.name for file in files] == ["drops.svg", "drops.png", "drops.pdf", "drops.vl.json"]
    assert files[0].read_text().startswith("<svg")
    assert "var(" not in files[0].read_text()
    assert files[1].read_bytes().startswith(b"\x89PNG")
    assert files[2].read_bytes().startswith(b"%PDF")


def test_a_plot_is_the_same_pdf_each_time(drawn: dict[str, Plot]) -> None:
    """Panels have names in bold, and so two fonts, which the converter writes in any order."""
    profile = draw(drawn["profile"], WIDE)
    assert len({to_pdf(profile) for _ in range(6)}) == 1


def test_cells_with_the_same_number_have_the_same_colour() -> None:
    rows = [
        {"slot": slot, "stressor": "typos", "change": change, ABOUT: slot, SEE: "#"}
        for slot, change in {"a": -5.4, "b": -4.6, "c": -0.4, "d": 0.4, "e": 0.6, "f": 1.4}.items()
    ]
    plot = Plot("heat", "heat", lambda layout: heat_chart(rows, "slot", layout))
    page = draw_adaptive_svg(plot, WIDE)
    cells = re.findall(r'fill="var\(--plot-(heat\d), #\w+\)"[^>]*><title>(\w)</title>', page)
    color = {slot: heat for heat, slot in cells}
    assert color["a"] == color["b"] and color["c"] == color["d"] and color["e"] == color["f"]
    assert len(set(color.values())) == 3


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
    losses, gains = [luminance(color) for color in HEAT[:7]], [luminance(color) for color in HEAT[6:]]
    assert losses == sorted(losses)
    assert gains == sorted(gains, reverse=True)


def cell_color(change: float) -> str:
    return HEAT[bisect_right(STEPS, change)]


def test_a_scale_tells_great_losses_apart_and_a_gain_from_a_loss() -> None:
    assert len(HEAT) == len(STEPS) + 1
    assert len({cell_color(change) for change in (-78, -45, -25, -12, -7, -2, 0, 2, 8, 30)}) == 10
    assert contrast(cell_color(-20.5), cell_color(-78)) > 2


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_numbers_can_be_read_in_every_cell(mode: str) -> None:
    """By the colours of the page's own style sheet, with the letters that the chart chooses for them."""
    style = files("dstress.reports").joinpath("page", "report.css").read_text("utf-8")
    dark = style[style.index("prefers-color-scheme: dark") :]
    for number, color in enumerate(HEAT):
        change = (-100, *STEPS)[number]
        strong = change < -20 or change >= 20
        ground, ink, surface = color, "#1b1f24", "#ffffff"
        if mode == "dark":
            ground, ink, surface = (
                re.search(rf"--{name}: (#\w{{6}})", dark)[1]  # type: ignore[index]
                for name in (f"plot-heat{number}", "ink", "surface")
            )
        assert contrast(ground, surface if strong else ink) > 4.5, number


@pytest.mark.slow
@pytest.mark.parametrize("layout", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("name", NAMES)
def test_every_mark_says_what_it_is_and_leads_to_its_turns(run: RunFolder, name: str, layout: Layout) -> None:
    plot = make_plots(run.scores, variant_names(run.manifest.suite))[name]
    drawn = ElementTree.fromstring(draw_adaptive_svg(plot, layout))
    marks = [
        mark
        for group in drawn.iter("{http://www.w3.org/2000/svg}g")
        if re.match("mark-(symbol|rect) role-mark", group.get("class", ""))
        for mark in group
    ]
    assert marks
    for link in marks:
        title = link.find("{*}path/{*}title")
        assert link.tag.endswith("}a") and link.get("href", "").startswith("#explore?stressor=")
        assert title is not None and title.text
    told = " ".join(drawn.itertext())
    assert "sensitivity" in name or "typos (typos(rate=0.2))" in told or "names (entities)" in told


def test_an_exported_plot_has_no_links(drawn: dict[str, Plot]) -> None:
    assert "<a " not in draw_svg(drawn["slot-stressors"])


def test_harm_and_gain_have_colours_of_their_own(run: RunFolder) -> None:
    scores = run.scores
    typos, entities, _ = scores.drops
    harm = msgspec.structs.replace(scores.drops[typos], difference=-0.3, low=-0.4, high=-0.2, p_holm=0.01)
    gain = msgspec.structs.replace(harm, difference=0.3, low=0.2, high=0.4)
    scores.drops = {typos: harm, entities: gain}
    shown = make_plots(scores)["drops"].chart(WIDE).to_dict()
    scale = shown["layer"][1]["encoding"]["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == {
        "significantly worse": LOSS,
        "significantly better": ACCENT,
    }


def test_a_metric_of_which_less_is_better_says_so(run: RunFolder) -> None:
    scores = run.scores
    for card in scores.variants.values():
        card.metrics["false-updates"] = card.metrics["jga"]
    drawn = draw_svg(make_plots(Scores(scores.variants))["metrics"])
    assert "false-updates ↓" in drawn and "gca ↓" not in drawn


def test_a_plot_that_could_show_nothing_is_not_made(run: RunFolder) -> None:
    """Every stressor scores as the original does."""
    scores = run.scores
    original = scores.variants["original"]
    same = Scores({"original": original, "one": original, "two": original}, drops=scores.drops)
    assert list(make_plots(same)) == ["drops", "profile"]
