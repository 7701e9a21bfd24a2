"""Text to speech with flite: one process speaks one utterance, and writes it to a pipe."""

from __future__ import annotations

import io
import shutil
import subprocess
import wave
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from dstress.errors import MissingExtraError, unknown

Samples = npt.NDArray[np.int16]
"""Mono audio, 16 bits a sample."""

RATE = 16_000
"""Samples a second: what the recogniser's model was trained on."""

PROGRAM = "flite"
VOICES = ("slt", "rms", "awb")
"""Those that speak where nobody names others, and that babble is mixed of."""
TRIES = 2
PATIENCE = 20.0
"""Seconds for one utterance; a usual one takes a tenth of one."""


class SilentVoice(Exception):
    """The voice died, hung or gave no audio, also at the second try."""


def check_voices(voices: Sequence[str]) -> None:
    """Before any work: flite must be there, and have the voices."""
    if shutil.which(PROGRAM) is None:
        raise MissingExtraError(
            "speech needs the program flite, which is not installed",
            fix="Debian and Ubuntu: apt install flite; macOS: brew install flite",
        )
    for voice in voices:
        if voice not in installed_voices():
            raise unknown("voice", voice, installed_voices(), fix="`flite -lv` shows the voices of this flite")


@cache
def installed_voices() -> tuple[str, ...]:
    """The voices that flite lists; those of 8 kHz, and those that only tell the time, are left out."""
    listed = _run([PROGRAM, "-lv"], check=False).decode("ascii", "replace").partition(":")[2].split()
    return tuple(voice for voice in listed if voice not in ("kal", "awb_time"))


@cache
def version() -> str:
    """Which flite speaks: a part of the key of everything that is kept."""
    lines = _run([PROGRAM, "--version"], check=False).decode("ascii", "replace").split()
    return next((word for word in lines if word.startswith("flite-")), "flite")


def speak(script: str, voice: str, speed: float = 1.0) -> Samples:
    """A text as audio. A process that dies or hangs is tried once more."""
    # One argument holds 128 kB; callers give far shorter texts. A text must not look like an option, so it is `-t`'s.
    command = [PROGRAM, "-voice", voice, "--setf", f"duration_stretch={1 / speed:.4f}", "-t", script]
    problem = ""
    for _ in range(TRIES):
        try:
            return _samples(_run([*command, "-o", "/dev/stdout"]))
        except (OSError, subprocess.SubprocessError, wave.Error, EOFError, ValueError) as error:
            problem = f"{type(error).__name__}: {error}"
    raise SilentVoice(problem)


def _run(command: list[str], *, check: bool = True) -> bytes:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=check, timeout=PATIENCE)
    return done.stdout


def _samples(riff: bytes) -> Samples:
    with wave.open(io.BytesIO(riff)) as audio:
        if audio.getframerate() != RATE or audio.getsampwidth() != 2 or audio.getnchannels() != 1:
            raise ValueError(f"audio of {audio.getframerate()} Hz; {RATE} Hz and one channel is wanted")
        samples = np.frombuffer(audio.readframes(audio.getnframes()), "<i2")
    if not samples.size:
        raise ValueError("no audio")
    return samples
