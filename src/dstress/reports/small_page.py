"""A small page that opens offline and runs no script: plots, tables and marked-up examples, in light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from dstress.dialogue import Edit
from dstress.reports.charts import Plot
from dstress.reports.rendering import draw_plots, render_page, write_page
from dstress.reports.tables import Table


class Part(NamedTuple):
    """A stretch of an utterance: as it was, left out, or added."""

    kind: Literal["same", "gone", "new"]
    text: str


def mark_edits(text: str, edits: Iterable[Edit]) -> list[Part]:
    """A text with its edits marked, in order."""
    parts, end = list[Part](), 0
    for edit in edits:
        parts += [Part("same", text[end : edit.start]), Part("gone", edit.before), Part("new", edit.after)]
        end = edit.start + len(edit.before)
    parts.append(Part("same", text[end:]))
    return [part for part in parts if part.text]


class Example(NamedTuple):
    """An example: what it is called, how it went, its utterances, and what is wrong then."""

    title: str
    about: str
    utterances: Sequence[tuple[str, Sequence[Part], str]]
    """Whose it is, the utterance with its edits marked, and how the stressor had left it."""
    wrong: Sequence[str]


class SmallPage(NamedTuple):
    """What the page shows, from top to bottom: plots by their captions, tables by their headings."""

    title: str
    about: Sequence[str] = ()
    plots: Mapping[str, Plot] = {}
    tables: Mapping[str, Table] = {}
    examples: Sequence[Example] = ()
    signatures: Sequence[str] = ()

    def write(self, path: Path) -> None:
        """Write the page, whole or not at all."""
        write_page(path, render_page("small.html.j2", ["small.css"], page=self, plots=draw_plots(self.plots)))
