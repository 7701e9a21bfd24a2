"""The words of `calendar.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files


@cache
def listed(name: str) -> tuple[str, ...]:
    """A list of the table: `weekdays`, `months`, `telling` or `relative`."""
    text = files("dstress.stressors.classifiers").joinpath("calendar.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)[name])
