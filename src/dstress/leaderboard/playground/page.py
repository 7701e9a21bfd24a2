"""The playground's HTML, for any page that puts it into its own frame."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from dstress.corpora import load
from dstress.dialogue import Turn, first_forms, update
from dstress.errors import DstressError
from dstress.leaderboard.playground.desk import Answer, Desk
from dstress.reports.rendering import templates
from dstress.reports.small_page import Part
from dstress.studies.playground import Scene, write_state

ADDRESS = "/playground"
_SECONDS = 1.0
"""How long a page waits for stressors that are being prepared; its script asks again."""
_TAGS = {"gone": "del", "new": "ins"}


def render_playground(desk: Desk, query: Sequence[tuple[str, str]]) -> Markup:
    """The page's content for a request."""
    answer = desk.answer(query, _SECONDS)
    scene, corpus = answer.scene, answer.request.corpus
    slots, ids, turns = list[str](), list[str](), tuple[Turn, ...]()
    with suppress(DstressError):  # which the answer says too
        slots, ids = list(load(corpus).schema.slots), desk.ids(corpus)
        turns = desk.dialogue(answer.request).turns
    own = turns[answer.request.turn - 1] if answer.request.turn <= len(turns) else None
    content: dict[str, Any] = {
        "answer": answer,
        "desk": desk,
        "ids": ids,
        "turns": len(turns),
        "own": own,
        "own_label": write_state(own.state) if own else "",
        "slots": slots,
        "label": write_state(scene.original.state) if scene else "",
        "mentions": list(dict.fromkeys(_said(scene))) if scene else [],
        "update": first_forms(update(scene.before, scene.original.state)) if scene else {},
        "action": ADDRESS,
        "again": f"{ADDRESS}?{urlencode(query)}",
        "marked": mark,
        "sentence": lambda text: text if text.endswith(("?", ".")) else f"{text}.",
        "command": partial(_command, answer),
    }
    return Markup(templates(__package__, ".").get_template("body.html.j2").render(content))


def mark(parts: Sequence[Part]) -> Markup:
    """A text with its edits as markup."""
    pieces = []
    for kind, text in parts:
        tag = _TAGS.get(kind)
        pieces.append(Markup("<{0}>{1}</{0}>").format(tag, text) if tag else Markup("{}").format(text))
    return Markup("").join(pieces)


def _command(answer: Answer, spec: str) -> str:
    request = answer.request
    return shlex.join(["dstress", "stress", request.corpus, "--with", spec, "--seed", str(request.first_seed)])


def _said(scene: Scene) -> Iterator[tuple[str, str]]:
    """The slots that the user gives a value in the turn, and the words for it."""
    for mention in scene.mentions:
        yield mention.slot, scene.original.user[mention.start : mention.end]
