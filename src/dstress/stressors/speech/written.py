"""Misheard words in the utterance that they were said in: what was heard right stays as it was written.

So do recognisers write that give capitals, digits and marks, in place of the spoken words alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dstress.stressors.speech.mishearing import Error
from dstress.stressors.speech.spoken import join_clitics, spoken_words
from dstress.text.writing_style import capitalise

_MARKS = (".", ",", "?", "!")


def write_errors(text: str, errors: Iterable[Error]) -> str:
    """The text with what was heard otherwise of its spoken words."""
    heard: dict[int, Sequence[str]] = {}
    added: dict[int, Sequence[str]] = {}
    for start, end, new in errors:
        if start == end:
            added[start] = new
        heard |= {place: new if place == start else () for place in range(start, end)}
    if not heard and not added:
        return text
    spoken = spoken_words(text)
    chunks = [(chunk, spoken_words(chunk)) for chunk in join_clitics(text).split()]
    if tuple([word for _, own in chunks for word in own]) != spoken:  # what is said hangs on two chunks: `$ 5`
        chunks = [(word, (word,)) for word in spoken]
    written: list[str] = []
    touched = heard.keys() | added.keys()
    at = 0
    for chunk, own in chunks:
        places = range(at, at + len(own))
        at += len(own)
        if touched.isdisjoint(places):
            written.append(chunk)
            continue
        written += [word for place in places for word in added.get(place, ())]
        if heard.keys().isdisjoint(places):
            written.append(chunk)
        elif new := [word for place in places for word in heard.get(place, spoken[place : place + 1])]:
            shown = " ".join(new) + (chunk[-1] if chunk.endswith(_MARKS) else "")
            written.append(capitalise(shown) if chunk[0].isupper() else shown)
    return " ".join(written)
