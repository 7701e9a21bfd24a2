"""What judges are given beside the sheet: instructions, and the sheet as a page that they fill in with the mouse."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

import msgspec

from dstress.analysis.human_check.questions import questions


def make_instructions(items: int, name: str) -> str:
    """What a judge has to know, in Markdown."""
    return _template("instructions.txt").replace("{items}", str(items)).replace("{name}", name)


def make_page(rows: Sequence[Sequence[str]]) -> str:
    """One HTML file, offline; a policy lets only its own script run, so that no utterance can bring one along."""
    script = _template("page.js")
    script_hash = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Within a script element only "<" could end it early.
    content = {"rows": rows, "questions": questions("data")}
    data = msgspec.json.encode(content).decode("utf-8", "replace").replace("<", "\\u003c")
    template = _template("page.html.txt")
    return template.replace("{policy}", f"'sha256-{script_hash}'").replace("{script}", script).replace("{data}", data)


def _template(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
