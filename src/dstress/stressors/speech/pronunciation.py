"""How words are pronounced: pocketsphinx's dictionary, and for words that it lacks, flite's rules."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache

from dstress.stressors.speech.sphinx import model_folder
from dstress.stressors.speech.voice import PATIENCE, PROGRAM

_PAUSE = "pau"
_PHONES = {"ax": "AH"}
"""flite's phones are the dictionary's in lower case, but for its name of the weak vowel."""

_TOGETHER = 50
_VARIANT = re.compile(r"\(\d+\)$")


@cache
def dictionary() -> dict[str, tuple[str, ...]]:
    """The recogniser's own dictionary: each word's pronunciations."""
    found: dict[str, tuple[str, ...]] = {}
    for line in (model_folder() / "cmudict-en-us.dict").read_text(encoding="utf-8").splitlines():
        name, _, phones = line.partition(" ")
        word = _VARIANT.sub("", name)
        found[word] = (*found.get(word, ()), phones.strip())
    return found


def pronunciations(words: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The pronunciations of words; words that nobody can pronounce are left out."""
    distinct = sorted(set(words))
    known = {word: dictionary()[word] for word in distinct if word in dictionary()}
    others = [word for word in distinct if word not in known]
    for start in range(0, len(others), _TOGETHER):
        known.update(_by_rule(others[start : start + _TOGETHER]))
    return known


def _by_rule(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """What flite would say, many words in one breath with pauses between them; one by one where that fails."""
    spoken = _phones(". ".join(words))
    if len(spoken) == len(words):
        return {word: (phones,) for word, phones in zip(words, spoken, strict=True)}
    if len(words) == 1:
        return {words[0]: (" ".join(spoken),)} if spoken else {}
    half = len(words) // 2
    return {**_by_rule(words[:half]), **_by_rule(words[half:])}


def _phones(text: str) -> list[str]:
    """The phones between pauses."""
    command = [PROGRAM, "-ps", "-t", text, "-o", "none"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
    except (OSError, subprocess.SubprocessError):
        return []
    groups: list[list[str]] = [[]]
    for phone in done.stdout.decode("ascii", "replace").split():
        if phone == _PAUSE:
            groups.append([])
        else:
            groups[-1].append(_PHONES.get(phone, phone.upper()))
    return [" ".join(group) for group in groups if group and _phone_set().issuperset(group)]


@cache
def _phone_set() -> frozenset[str]:
    """The phones that the recogniser's model has."""
    return frozenset(phone for forms in dictionary().values() for form in forms for phone in form.split())
