"""The notebooks run from top to bottom, in a real kernel, and show what they show in the repository."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.parts import need
from tests.paths import ROOT, SEARCHED

FOLDER = ROOT / "examples" / "notebooks"


def shown(notebook: Any) -> list[list[str]]:
    """What each cell of code shows, as text."""
    cells = (cell for cell in notebook.cells if cell.cell_type == "code")
    return [[output.get("text") or output["data"]["text/plain"] for output in cell.outputs] for cell in cells]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_says(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("nbclient", "ipykernel")
    import nbformat
    from nbclient import NotebookClient

    place = tmp_path / "examples" / "notebooks"
    place.mkdir(parents=True)
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("*.md"))
    monkeypatch.setenv("PYTHONPATH", SEARCHED)
    notebook = nbformat.read(path, as_version=4)
    expected = shown(notebook)
    NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        coalesce_streams=True,
        resources={"metadata": {"path": str(place)}},
    ).execute()
    assert shown(notebook) == expected


def test_there_are_two_of_them() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} >= {"own_tracker", "prediction_files"}
