"""Notebooks as pages: their text, their code, and what it showed when it was last run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any


def read_notebook(text: str) -> str:
    """A notebook as Markdown."""
    cells = json.loads(text)["cells"]
    return "\n\n".join(part for cell in cells for part in _parts(cell)) + "\n"


def _parts(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "text/html" in data:
            # pandas' tables as the site's own: without its border and its class.
            shown = re.sub(r"<table[^>]*dataframe[^>]*>", "<table>", "".join(data["text/html"]))
            yield f'<div class="output">{shown}</div>'
        elif text := "".join(output.get("text", data.get("text/plain", ""))).rstrip():
            yield f"```text\n{text}\n```"
