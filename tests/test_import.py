"""`import dstress` is fast, reaches for nothing heavy, and shows its public names and nothing else."""

from __future__ import annotations

import inspect
import json
import pydoc
import re
import rlcompleter
import subprocess
import sys

import pytest

import dstress

HEAVY = {"numpy", "httpx", "rich", "click", "torch", "transformers", "altair", "sacrebleu", "ray", "fastapi"}
CODE = "import json, sys; import dstress; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"


def test_the_door_imports_nothing_heavy() -> None:
    out = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True).stdout
    loaded = set(json.loads(out))
    assert "dstress" in loaded
    assert not HEAVY & loaded


PUBLIC = {
    "ComponentSpec",
    "Convention",
    "Corpus",
    "Dialogue",
    "DstressError",
    "Format",
    "Importer",
    "Metric",
    "Prediction",
    "Rewriter",
    "Schema",
    "Scorecard",
    "State",
    "Stressor",
    "Tracker",
    "Turn",
    "__version__",
    "add",
    "compare",
    "evaluate",
    "formats",
    "importers",
    "load",
    "parse",
    "read_predictions",
    "score",
    "stress",
    "write_predictions",
}


def test_the_public_names_are_these() -> None:
    assert len(dstress.__all__) == len(PUBLIC) and set(dstress.__all__) == PUBLIC
    assert all(hasattr(dstress, name) for name in dstress.__all__)


def test_the_tabulator_shows_the_public_names_only() -> None:
    from dstress import cli, corpora  # what is imported inside stays out of sight

    assert (cli, corpora) == (dstress.cli, dstress.corpora)
    assert dir(dstress) == sorted(PUBLIC)
    completer = rlcompleter.Completer({"dstress": dstress})
    shown = [found for state in range(100) if (found := completer.complete("dstress.", state))]
    assert {text.removeprefix("dstress.").strip("()") for text in shown} == PUBLIC - {"__version__"}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PUBLIC - {"__version__"}))
def test_help_lists_the_public_names_with_their_first_lines(name: str) -> None:
    page = pydoc.plain(pydoc.render_doc(dstress)).partition("CLASSES")[0]
    [line] = re.findall(rf"^ +{name}  +(\S.*)$", page, re.MULTILINE)
    thing = getattr(dstress, name)
    if inspect.isclass(thing) or inspect.isfunction(thing):
        assert (inspect.getdoc(thing) or "").startswith(line), "the line in dstress/__init__.py is another now"
