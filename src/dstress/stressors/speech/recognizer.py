"""Who listens: pocketsphinx, small and quick, or Whisper, as recognisers are today.

Each has `check`, to be called before any work, `version`, a key of all that changes what it hears, and `recognize`.
"""

from __future__ import annotations

from typing import Literal

from dstress.errors import SpecError
from dstress.stressors.speech.sphinx import Sphinx
from dstress.stressors.speech.whisper import Whisper

Recognizer = Sphinx | Whisper
RecognizerName = Literal["pocketsphinx", "whisper"]


def make_recognizer(stressor: str, name: RecognizerName, model: str | None) -> Recognizer:
    """The recogniser that a spec names; only Whisper is given a model."""
    if name == "whisper":
        return Whisper(model) if model else Whisper()
    if model:
        raise SpecError(f"{stressor}: pocketsphinx has no model={model}", fix="add recognizer=whisper, or leave it out")
    return Sphinx()
