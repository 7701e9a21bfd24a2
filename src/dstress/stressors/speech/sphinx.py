"""Speech recognition with pocketsphinx and its own model of English, one decoder for each process.

An utterance is heard by itself: its cepstral mean is its own (`cmn=batch`, the whole utterance at once) and its noise
is estimated anew, so that nothing of what was heard before changes what is heard now.
"""

from __future__ import annotations

import warnings
from functools import cache, lru_cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from dstress.errors import MissingExtraError
from dstress.storage.atomic import replacing
from dstress.stressors.speech.spoken import words
from dstress.stressors.speech.unheard import excluded_prefixes
from dstress.stressors.speech.voice import Samples

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


class Sphinx(NamedTuple):
    """The recogniser with files of a domain's own language, or with its own model of English where there are none."""

    model: str = ""
    dictionary: str = ""

    def check(self) -> None:
        """Before any work: pocketsphinx must be there."""
        if find_spec("pocketsphinx") is None:
            raise MissingExtraError(
                "speech needs the package pocketsphinx, which is not installed",
                fix="pip install 'dstress[speech]'",
            )

    def version(self) -> tuple[str, ...]:
        """Which recogniser listens, and how: a part of the key of everything that is kept."""
        return _version(), self.model, self.dictionary

    def recognize(self, audio: Samples, folder: Path) -> str:
        """What the recogniser makes of an utterance; empty if nothing. `folder` is for files that it needs."""
        decoder = _decoder(self if self.dictionary else general_language(folder))
        _reset_noise_estimate(decoder)
        decoder.start_utt()
        decoder.process_raw(audio.tobytes(), full_utt=True)
        decoder.end_utt()
        best = decoder.hyp()
        return " ".join(words(best.hypstr)) if best is not None else ""


@cache
def general_language(folder: Path) -> Sphinx:
    """pocketsphinx's own model of English, less some words; its dictionary is written to `folder` once."""
    source = (model_folder() / "cmudict-en-us.dict").read_text(encoding="utf-8")
    lines = source.splitlines(keepends=True)
    kept = "".join(line for line in lines if not line.startswith(excluded_prefixes())).encode()
    path = folder / "languages" / f"general-{blake2b(kept, digest_size=8).hexdigest()}.dict"
    if not path.exists():
        with replacing(path) as out:
            out.write(kept)
    return Sphinx("", str(path))


_IMPOSSIBLE = -1e8
"""Below any log-probability of a word that the model has."""


@cache
def _version() -> str:
    try:
        number = installed_version("pocketsphinx")
    except PackageNotFoundError:
        number = "?"
    return f"pocketsphinx-{number}, noise estimated anew, {sorted(SEARCH.items())}, without {excluded_prefixes()}"


def model_folder() -> Path:
    """Where pocketsphinx keeps its model and dictionary."""
    import pocketsphinx

    return Path(pocketsphinx.get_model_path("en-us"))


def known_words(language: Sphinx) -> list[str]:
    """The words that the recogniser can give: those of its language model that it can pronounce."""
    decoder = _decoder(language)
    dictionary = Path(language.dictionary or model_folder() / "cmudict-en-us.dict").read_text(encoding="utf-8")
    model = decoder.get_lm()
    listed = {line.split(" ", 1)[0] for line in dictionary.splitlines()}
    return sorted(word for word in listed if "(" not in word and model.prob([word]) > _IMPOSSIBLE)


def _reset_noise_estimate(decoder: Any) -> None:
    """Drop the estimate of the background noise, which would go on from one utterance to the next."""
    if not hasattr(decoder, "start_stream"):
        decoder.reinit_feat()
        return
    with warnings.catch_warnings():
        # pocketsphinx 5 calls this unnecessary; but it is the one call that starts the noise estimate anew.
        warnings.simplefilter("ignore", DeprecationWarning)
        decoder.start_stream()


@lru_cache(maxsize=2)
def _decoder(language: Sphinx) -> Any:
    from pocketsphinx import Decoder

    own = {"lm": language.model, "dict": language.dictionary}
    return Decoder(**SEARCH, **{name: path for name, path in own.items() if path})
