"""The examples of docs/gallery.md are what the stressors make of the turn today."""

from __future__ import annotations

import pytest

from tests.paths import DOCS
from website.examples import BEGIN, END, render_examples


@pytest.mark.slow
def test_the_gallery_shows_what_the_stressors_do() -> None:
    shown = (DOCS / "gallery.md").read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    assert shown.strip() == render_examples().strip(), "python -m website.examples"
