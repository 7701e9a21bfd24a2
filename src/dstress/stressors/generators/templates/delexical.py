"""An utterance without its values: the words that say each become a placeholder, flags are marked and stay words."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from dstress.dialogue import State, Turn, update
from dstress.stressors.generators.goals import flag_of
from dstress.stressors.generators.templates.tokens import is_flag_mark, is_placeholder, tokens_of, words
from dstress.text import inflection, mentions
from dstress.text.letters import fold, words_of
from dstress.text.numbers import number_of
from dstress.text.times import date_of, time_of

PLURAL = "-s"
"""The token after a placeholder whose value is said in the plural."""


class SurfaceForm(NamedTuple):
    """The words that say one value, and the tokens beside them."""

    slot: str
    value: str
    words: str
    before: str
    after: str


class Delexicalised(NamedTuple):
    """An utterance's tokens; the slots of its label that it does not say: `taken` from the system, or `unexplained`."""

    tokens: tuple[str, ...]
    surfaces: tuple[SurfaceForm, ...] = ()
    taken: tuple[str, ...] = ()
    unexplained: bool = False


class _Span(NamedTuple):
    """Words that say a value, and the token for them."""

    start: int
    end: int
    token: str
    slot: str
    value: str


def delexicalise(turn: Turn, before: State) -> Delexicalised:
    """A turn's user utterance with placeholders for the values that it adds to the state."""
    text, changed = turn.user, update(before, turn.state)
    if not changed or "[" in text or "{" in text:
        return Delexicalised(tuple(tokens_of(text)), unexplained=bool(changed))
    spans = []
    for slot, form, start, end in mentions.find_mentions(turn, before):
        value = turn.state[slot][0]
        if flag := flag_of(value):
            spans.append(_Span(start, end, f"{{{slot}={flag}}}", slot, value))
        else:
            spans.append(_Span(start, _absorbing_end(text, end), f"[{slot}]", slot, form))
    spans.sort(key=lambda span: (span.start, span.end, span.token))

    surfaces, pieces, done = list[SurfaceForm](), list[str](), 0
    for start, end, token, slot, value in spans:
        if is_placeholder(token):
            shown = text[start:end]
            left = tokens_of(text[:start])[-1:] or ["<"]
            right = tokens_of(text[end : end + 40])[:1] or [">"]
            surfaces.append(SurfaceForm(slot, value, shown, left[0], right[0]))
            if start >= done:
                own, folded = fold(value), fold(shown)
                is_plural = folded.endswith("s") and not own.endswith("s")
                is_plural = is_plural and words_of(folded)[-1][:3] == (words_of(own) or [""])[-1][:3]
                pieces += [text[done:start], f" {token} ", f" {PLURAL} " if is_plural else " "]
                done = end
        else:
            pieces += [text[done : max(done, start)], f" {token} "]
            done = max(done, start)

    spoken = {span.slot for span in spans}
    unspoken = [slot for slot in changed if slot not in spoken]
    taken = [slot for slot in unspoken if mentions.find_value(turn.system, slot, changed[slot])]
    placeholders = [form.slot for form in surfaces]
    unexplained = (
        len(taken) < len(unspoken)
        or len(set(placeholders)) < len(placeholders)
        or any(  # only flags may be said by the same words
            first.end > second.start and not (is_flag_mark(first.token) and is_flag_mark(second.token))
            for first, second in pairwise(spans)
        )
        or bool(turn.coreferences)
        or not all(map(_is_plain, surfaces))
    )
    tokens = tokens_of("".join(pieces) + text[done:])
    return Delexicalised(tuple(tokens), tuple(surfaces), tuple(taken), unexplained)


def _absorbing_end(text: str, end: int) -> int:
    """The end of a value's words with what goes along with them: "moderate -ly priced"."""
    rest = text[end : end + 16].lower()
    for phrase in words("absorbed"):
        for lead in (" ", ""):
            if rest.startswith(lead + phrase) and not rest[len(lead + phrase) :][:1].isalnum():
                return _absorbing_end(text, end + len(lead + phrase))
    return end


def _is_plain(form: SurfaceForm) -> bool:
    """Whether a value is said by words of its own kind, so that others can stand there: no "just me" for 1."""
    value, shown = form.value, form.words
    if form.before in words("before_value") or form.after in words("after_value"):
        return False
    if time_of(value) is not None:
        return any(map(str.isdigit, shown)) or time_of(shown) is not None
    if number_of(value) is not None:
        return number_of(shown) is not None
    if date_of(value) is not None:
        return date_of(shown) is not None
    own, folded = fold(value), fold(shown)
    letters = "".join(words_of(shown))
    if letters.removesuffix("s") == "".join(words_of(value)).removesuffix("s"):
        return True
    if any(folded == own + end for end in (" -ly priced", "ly priced", " priced")):
        return True
    alike = inflection.table()["alike"].get(own, ())
    return (
        folded in alike
        or folded.removesuffix("s") in alike
        or (len(words_of(value)) > 1 and letters in "".join(words_of(value)))
    )
