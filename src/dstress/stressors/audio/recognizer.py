"""Speech recognition with pocketsphinx and its own model of English, one decoder for each process.

An utterance is heard by itself: its cepstral mean is its own (`cmn=batch`, the whole utterance at once), so that
nothing of what was heard before changes what is heard now.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from dstress.errors import MissingExtraError
from dstress.stressors.audio.voice import Samples

SEARCH: dict[str, float | int | bool | str] = {
    "maxhmmpf": 1500,
    "pl_weight": 8.0,
    "wbeam": 1e-20,
    "ds": 2,
    "fwdflat": False,
    "cmn": "batch",
    "loglevel": "FATAL",
}
"""How hard the decoder searches: several times as fast as pocketsphinx's defaults, for a few more errors in a hundred
words (docs/stressors/speech.md has the measurements)."""


class Language(NamedTuple):
    """What the recogniser knows of the language, beside pocketsphinx's own model: files of a domain's own."""

    model: str = ""
    dictionary: str = ""


GENERAL = Language()
"""pocketsphinx's own model of English."""


def check_recogniser() -> None:
    """Before any work: pocketsphinx must be there."""
    if find_spec("pocketsphinx") is None:
        raise MissingExtraError(
            "speech needs the package pocketsphinx, which is not installed",
            fix="pip install 'dstress[speech]'",
        )


@cache
def version() -> str:
    """Which recogniser listens, and how: a part of the key of everything that is kept."""
    try:
        number = installed_version("pocketsphinx")
    except PackageNotFoundError:
        number = "?"
    return f"pocketsphinx-{number} {sorted(SEARCH.items())}"


def model_folder() -> Path:
    """Where pocketsphinx keeps its model and dictionary."""
    import pocketsphinx

    return Path(pocketsphinx.get_model_path("en-us"))


def hear(audio: Samples, language: Language = GENERAL) -> str:
    """What the recogniser makes of an utterance; empty if nothing."""
    decoder = _decoder(language)
    decoder.start_utt()
    decoder.process_raw(audio.tobytes(), full_utt=True)
    decoder.end_utt()
    best = decoder.hyp()
    return str(best.hypstr) if best is not None else ""


@lru_cache(maxsize=2)
def _decoder(language: Language) -> Any:
    from pocketsphinx import Decoder

    own = {"lm": language.model, "dict": language.dictionary} if language.model else {}
    return Decoder(**SEARCH, **own)
