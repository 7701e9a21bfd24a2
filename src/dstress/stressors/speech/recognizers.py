"""Who listens: pocketsphinx, small and quick, or Whisper, as recognisers are today.

Each has `check`, to be called before any work, `version`, a key of all that changes what it hears, and `recognize`.
One decoder or model is loaded in each process. An utterance is heard by itself, so that nothing of what was heard
before changes what is heard now.
"""

from __future__ import annotations

import warnings
from functools import cache
from hashlib import blake2b
from importlib.metadata import version as installed_version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from dstress.errors import DstressError, MissingExtraError
from dstress.storage.atomic import replacing
from dstress.stressors.speech.spoken import words
from dstress.stressors.speech.voice import Samples
from dstress.text.tables import read_table

RecognizerName = Literal["pocketsphinx", "whisper"]

SPHINX_SEARCH: dict[str, float | int | bool | str] = {
    "maxhmmpf": 1500,
    "pl_weight": 8.0,
    "wbeam": 1e-20,
    "ds": 2,
    "fwdflat": False,
    "cmn": "batch",
    "loglevel": "FATAL",
}
"""How hard the decoder searches: several times as fast as pocketsphinx's defaults, for a few more errors in a hundred
words (docs/stressors/speech.md has the measurements). The cepstral mean is the utterance's own (`cmn=batch`)."""

WHISPER_SEARCH: dict[str, Any] = {
    "language": "en",
    "beam_size": 5,
    "temperature": 0.0,
    "condition_on_previous_text": False,
    "without_timestamps": True,
    "no_repeat_ngram_size": 5,
}
"""How the decoder searches: for the most probable path, never by sampling, so that the same audio gives the same words.
Under noise it would go round in circles, from which sampling saves it otherwise; here the limit on n-grams does."""

_WEIGHTS = "model.bin"
_HASHED_END = 1 << 20
"""Bytes at the end of each file by which models are told apart: weights are too large to read whole each time."""


@cache
def excluded_prefixes() -> tuple[str, ...]:
    """What words begin with that no recogniser may give, since nobody wants them in a corpus by accident."""
    return tuple(read_table(__package__, "unheard.toml")["unheard"])


class Sphinx(NamedTuple):
    """pocketsphinx with its own model of English."""

    def check(self) -> None:
        """Before any work: pocketsphinx must be there."""
        if find_spec("pocketsphinx") is None:
            raise MissingExtraError(
                "speech needs the package pocketsphinx, which is not installed",
                fix="pip install 'dstress[speech]'",
            )

    def version(self) -> tuple[str, ...]:
        """Which recogniser listens, and how: a part of the key of everything that is kept."""
        return (_sphinx_version(),)

    def recognize(self, audio: Samples, folder: Path) -> str:
        """What the recogniser makes of an utterance; empty if nothing. `folder` is for files that it needs."""
        decoder = sphinx_decoder(dictionary_in(folder))
        # The estimate of the background noise would go on from one utterance to the next.
        if hasattr(decoder, "start_stream"):
            with warnings.catch_warnings():
                # pocketsphinx 5 calls this unnecessary; but it is the one call that starts the noise estimate anew.
                warnings.simplefilter("ignore", DeprecationWarning)
                decoder.start_stream()
        else:
            decoder.reinit_feat()
        decoder.start_utt()
        decoder.process_raw(audio.tobytes(), full_utt=True)
        decoder.end_utt()
        best = decoder.hyp()
        return " ".join(words(best.hypstr)) if best is not None else ""


@cache
def _sphinx_version() -> str:
    number, search = installed_version("pocketsphinx"), sorted(SPHINX_SEARCH.items())
    return f"pocketsphinx-{number}, noise estimated anew, {search}, without {excluded_prefixes()}"


@cache
def sphinx_decoder(dictionary: str) -> Any:
    """pocketsphinx, with a dictionary."""
    from pocketsphinx import Decoder

    return Decoder(**SPHINX_SEARCH, dict=dictionary)


@cache
def dictionary_in(folder: Path) -> str:
    """pocketsphinx's own dictionary of English without some words, written to `folder` once."""
    import pocketsphinx

    own = Path(pocketsphinx.get_model_path("en-us")) / "cmudict-en-us.dict"
    lines = own.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = "".join(line for line in lines if not line.startswith(excluded_prefixes())).encode()
    path = folder / "languages" / f"general-{blake2b(kept, digest_size=8).hexdigest()}.dict"
    if not path.exists():
        with replacing(path) as out:
            out.write(kept)
    return str(path)


class Whisper(NamedTuple):
    """Whisper (Radford et al. 2022) through faster-whisper, which writes as people do: capitals, marks and digits.

    `model` is a folder with its weights in CTranslate2's layout, or a name that faster-whisper downloads it by.
    """

    model: str = "base"

    def check(self) -> None:
        """Before any work: package and weights must be there."""
        if find_spec("faster_whisper") is None:
            raise MissingExtraError(
                "the recogniser whisper needs the package faster-whisper, which is not installed",
                fix="pip install 'dstress[whisper]'",
            )
        _whisper_folder(self.model)

    def version(self) -> tuple[str, ...]:
        """Which recogniser and which weights listen, and how: a part of the key of everything that is kept."""
        return (_whisper_version(self.model),)

    def recognize(self, audio: Samples, folder: Path) -> str:
        """What the recogniser makes of an utterance, as it writes it; empty if nothing."""
        segments, _ = _whisper_model(self.model).transcribe(audio.astype(np.float32) / 32768, **WHISPER_SEARCH)
        heard = (word for segment in segments for word in segment.text.split())
        return " ".join(word for word in heard if not word.lower().startswith(excluded_prefixes()))


@cache
def _whisper_folder(model: str) -> Path:
    """Where the weights are."""
    named = Path(model).expanduser()
    if (named / _WEIGHTS).is_file():
        return named
    fix = f"give the folder with {_WEIGHTS}, config.json and tokenizer.json: model=PATH"
    if named.exists() or len(named.parts) > 2:
        raise DstressError(f"the model of whisper has no {_WEIGHTS}", where=model, fix=fix)
    from faster_whisper import download_model

    try:
        return Path(download_model(model))
    except Exception as error:  # a wrong name, no network, no space: whatever the hub's client raises
        raise DstressError(f"whisper's model {model!r} cannot be had: {error}", fix=fix) from error


@cache
def _whisper_version(model: str) -> str:
    digest = blake2b(digest_size=16)
    for path in sorted(_whisper_folder(model).iterdir()):
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _HASHED_END))
            digest.update(f"{path.name} {size} ".encode() + file.read())
    number, search = installed_version("faster-whisper"), sorted(WHISPER_SEARCH.items())
    return f"faster-whisper-{number} {digest.hexdigest()}, {search}, without {excluded_prefixes()}"


@cache
def _whisper_model(model: str) -> Any:
    from faster_whisper import WhisperModel

    # One thread: the channel has a process for every core, and words must not hang on how many there are.
    return WhisperModel(str(_whisper_folder(model)), device="cpu", compute_type="int8", cpu_threads=1)


Recognizer = Sphinx | Whisper
