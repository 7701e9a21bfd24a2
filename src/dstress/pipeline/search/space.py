"""What can be tried: stressors by strength, and compositions of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from dstress.errors import SpecError
from dstress.spec import parse
from dstress.stressors import create
from dstress.text.tables import read_table

Ladder = tuple[str, ...]
"""One stressor's specs, from weak to strong."""


def read_ladders(specs: Sequence[str] = ()) -> dict[str, Ladder]:
    """The stressors to try by name: those of the table, or the specs that are given, in their order."""
    ladders: dict[str, list[str]] = {}
    for spec in specs:
        ladders.setdefault(parse(spec).name, []).append(create(spec).spec)
    known = ladders or {name: list(row) for name, row in read_table(__package__, "strengths.toml").items()}
    for spec in (spec for row in known.values() for spec in row):
        composed = create(spec)
        if not composed.guarded or composed.scope == "schema":
            what = "changes the schema and no words" if composed.scope == "schema" else "has no label guard"
            raise SpecError(f"{spec} {what}, so a search could not tell harm from a lost label", fix="leave it out")
    return {name: tuple(dict.fromkeys(row)) for name, row in known.items()}


def compose(parts: Iterable[str]) -> str:
    """These specs together, in the order in which stressors are applied."""
    return create("+".join(parts)).spec


def draw_composition(ladders: dict[str, Ladder], most: int, random: Random) -> str:
    """Any composition of one to `most` stressors, each as strong as chance has it."""
    names = random.sample(sorted(ladders), random.randint(1, min(most, len(ladders))))
    return compose(random.choice(ladders[name]) for name in names)
