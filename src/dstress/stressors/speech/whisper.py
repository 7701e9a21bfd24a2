"""Speech recognition with Whisper (Radford et al. 2022) through faster-whisper, one model for each process.

It writes as people do: capitals, marks and digits. An utterance is heard by itself, by the most probable path and never
by sampling, so that the same audio gives the same words.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from importlib.metadata import version as installed_version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dstress.errors import DstressError, MissingExtraError
from dstress.stressors.speech.unheard import excluded_prefixes
from dstress.stressors.speech.voice import Samples

SEARCH: dict[str, Any] = {
    "language": "en",
    "beam_size": 5,
    "temperature": 0.0,
    "condition_on_previous_text": False,
    "without_timestamps": True,
    "no_repeat_ngram_size": 5,
}
"""How the decoder searches. Under noise it would go round in circles, from which it is otherwise saved by sampling."""

_WEIGHTS = "model.bin"
_TOLD_BY = 1 << 20
"""Bytes at the end of each file by which models are told apart: weights are too large to read whole each time."""


class Whisper(NamedTuple):
    """A model: a folder with its weights in CTranslate2's layout, or a name that faster-whisper downloads it by."""

    model: str = "base"

    def check(self) -> None:
        """Before any work: package and weights must be there."""
        if find_spec("faster_whisper") is None:
            raise MissingExtraError(
                "the recogniser whisper needs the package faster-whisper, which is not installed",
                fix="pip install 'dstress[whisper]'",
            )
        _folder(self.model)

    def version(self) -> tuple[str, ...]:
        """Which recogniser and which weights listen, and how: a part of the key of everything that is kept."""
        return (_version(self.model),)

    def recognize(self, audio: Samples, folder: Path) -> str:
        """What the recogniser makes of an utterance, as it writes it; empty if nothing."""
        segments, _ = _loaded(self.model).transcribe(audio.astype(np.float32) / 32768, **SEARCH)
        heard = (word for segment in segments for word in segment.text.split())
        return " ".join(word for word in heard if not word.lower().startswith(excluded_prefixes()))


@cache
def _folder(model: str) -> Path:
    """Where the weights are."""
    given = Path(model).expanduser()
    if (given / _WEIGHTS).is_file():
        return given
    fix = f"give the folder with {_WEIGHTS}, config.json and tokenizer.json: model=PATH"
    if given.exists() or len(given.parts) > 2:
        raise DstressError(f"the model of whisper has no {_WEIGHTS}", where=model, fix=fix)
    from faster_whisper import download_model

    try:
        return Path(download_model(model))
    except Exception as error:  # a wrong name, no network, no space: whatever the hub's client raises
        raise DstressError(f"whisper's model {model!r} cannot be had: {error}", fix=fix) from error


@cache
def _version(model: str) -> str:
    digest = blake2b(digest_size=16)
    for path in sorted(_folder(model).iterdir()):
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TOLD_BY))
            digest.update(f"{path.name} {size} ".encode() + file.read())
    package = installed_version("faster-whisper")
    return f"faster-whisper-{package} {digest.hexdigest()}, {sorted(SEARCH.items())}, without {excluded_prefixes()}"


@cache
def _loaded(model: str) -> Any:
    from faster_whisper import WhisperModel

    # One thread: the channel has a process for every core, and words must not hang on how many there are.
    return WhisperModel(str(_folder(model)), device="cpu", compute_type="int8", cpu_threads=1)
