"""A run's label: one small card with its clean score and what each stressor costs, for a README or a model card."""

from __future__ import annotations

import textwrap
from importlib import import_module
from pathlib import Path

from dstress.errors import DstressError
from dstress.reports.findings import significant
from dstress.reports.numbers import PAGE
from dstress.reports.rendering import templates
from dstress.reports.variant_names import variant_names
from dstress.runs.folder import RunFolder
from dstress.runs.suites.base import ORIGINAL
from dstress.storage.atomic import replacing

FORMATS = (".svg", ".png", ".html")
_SIGNATURE_WIDTH, _NAME_WIDTH = 62, 26


def write_label(run: RunFolder, path: Path) -> Path:
    """Write the label as SVG, PNG or HTML, by the ending of the file."""
    if path.suffix not in FORMATS:
        raise DstressError(f"a label is no {path.suffix or 'file without ending'}", fix=f"end in {', '.join(FORMATS)}")
    drawn = draw_label(run)
    content = drawn.encode()
    if path.suffix == ".png":
        content = bytes(import_module("vl_convert").svg_to_png(drawn, scale=2))
    elif path.suffix == ".html":
        content = (
            f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Label</title>\n{drawn}</html>\n'.encode()
        )
    with replacing(path) as out:
        out.write(content)
    return path


def draw_label(run: RunFolder) -> str:
    """The label as SVG. The stressor that costs most comes first; intervals are 95 %, of the change."""
    scores, manifest = run.scores, run.manifest
    original = scores.variants[ORIGINAL].metrics.get(scores.joint)
    if original is None:
        raise DstressError(
            "a label shows joint goal accuracy or call accuracy, which this run lacks", where=str(run.path)
        )
    names = variant_names(manifest.suite)
    drops = sorted(scores.drops.items(), key=lambda item: item[1].difference)
    shown: str = (
        templates()
        .get_template("label.svg.j2")
        .render(
            tracker=_shorten(manifest.tracker, 34),
            data=manifest.tracked,
            unit=original.signature.partition("|unit:")[2].partition("|")[0] or "turn",
            PAGE=PAGE,
            significant=significant,
            dialogues=next((drop.dialogues for _, drop in drops), None),
            original=original,
            scores=scores,
            rows=[(_shorten(names.get(spec, spec), _NAME_WIDTH), drop) for spec, drop in drops],
            signature=[
                line.replace("| ", "|")
                for line in textwrap.wrap(original.signature.replace("|", "| "), _SIGNATURE_WIDTH)
            ],
        )
    )
    return shown


def _shorten(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
