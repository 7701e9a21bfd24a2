"""Every example in docs/predictions.md is read, and says what the page says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dstress.predictions import detect, formats, read_predictions
from dstress.storage.sources import open_source
from tests.predictions.examples import EXAMPLES, Example


def test_the_page_has_a_section_for_every_format() -> None:
    assert sorted(EXAMPLES) == list(formats)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_is_found_by_its_shape(name: str, tmp_path: Path) -> None:
    with open_source(EXAMPLES[name].written(tmp_path)) as source:
        assert detect(source).name == name


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_is_read_as_the_page_shows(name: str, tmp_path: Path) -> None:
    shown = tmp_path / "shown.jsonl"
    shown.write_text(EXAMPLES[name].parsed, encoding="utf-8")
    read = list(read_predictions(EXAMPLES[name].written(tmp_path)))
    assert read == list(read_predictions(shown))
    assert read


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_other_format_claims_the_example(name: str, tmp_path: Path) -> None:
    with open_source(EXAMPLES[name].written(tmp_path)) as source:
        assert [other for other in formats if formats.get(other).matches(source)] == [name]


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_format_carries_gold_if_its_example_does(name: str, tmp_path: Path) -> None:
    read = read_predictions(EXAMPLES[name].written(tmp_path))
    assert formats.get(name).carries_gold or all(prediction.gold is None for prediction in read)


def test_examples_are_real() -> None:
    assert all(isinstance(example, Example) and len(example.sample) > 50 for example in EXAMPLES.values())


def test_the_door_is_light() -> None:
    code = "import sys, dstress.predictions; print([name for name in sys.modules if name.startswith('dstress.pred')])"
    code += "; sys.exit('numpy' in sys.modules or 'dstress.predictions.sgd' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
