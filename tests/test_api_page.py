"""Every block of these pages runs; docs/api.md has every public name of what it explains."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dstress.conventions.base import Convention
from dstress.corpora.base import Importer
from dstress.dialogue import Act, Dialogue, Frame, Intent, Schema, Service, Slot, Span, Turn
from dstress.predictions.base import Format, FramePrediction, Prediction
from dstress.resources import Resources
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.metrics.base import Metric
from dstress.storage.sources import Source, SourceFile
from dstress.trackers.base import Context
from tests import pages
from tests.paths import DOCS

PAGE = DOCS / "api.md"
RUN = {
    f"{page.stem}: {title}": (page, code)
    for page in (PAGE, *(DOCS / f"{name}.md" for name in ("python", "reminder", "few-shot")))
    for title, code in pages.sections(page).items()
}
STRUCTS = (Act, Dialogue, Frame, FramePrediction, Intent, Prediction, Schema, Service, Slot, Span, Turn)
EXPLAINED = (Source, SourceFile, Importer, Format, Convention, Alignment, Metric, Context, Resources)


@pytest.mark.slow
@pytest.mark.parametrize("title", RUN)
def test_a_section_does_what_it_says(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, code = RUN[title]
    pages.run(code, page, tmp_path, monkeypatch)


@pytest.mark.parametrize("kind", [*STRUCTS, *EXPLAINED])
def test_every_public_name_is_explained(kind: type) -> None:
    fields = getattr(kind, "__struct_fields__", ()) if kind in STRUCTS else (*vars(kind), *kind.__annotations__)
    names = {name for name in fields if not name.startswith("_")} | {kind.__name__}
    shown = " ".join(re.findall(r"`+[^`]+`+", PAGE.read_text(encoding="utf-8")))
    assert {name for name in names if not re.search(rf"\b{name}\b", shown)} == set()
