"""Repairs: a wrong value is said first, taken back, and the right one follows.

The parts go by Shriberg's names (1994): the *reparandum* ("at 5 pm"), the *interregnum* with its editing term ("uh,
sorry, I mean") and the *repair* ("at 6 pm"), which is the user's own text and stays as it was. As speakers do, the
short words before the value are often said again.
"""

from __future__ import annotations

import re
from functools import lru_cache
from random import Random

from dstress.stressors.disfluency.alternatives import Alternatives
from dstress.stressors.disfluency.phrases import AdditionStyle
from dstress.text import mentions as values
from dstress.text.mentions import Mention
from dstress.text.utterance import Utterance
from dstress.text.word_row import Addition, WordRow

_RETRACED = frozenset(
    ["to", "from", "at", "on", "in", "for", "by", "the", "a", "an", "after", "before", "until", "with"]
)
_JOINING = frozenset("-'’/%$£€")
_BETWEEN = re.compile(r"[^\w:.'’]+|[.'’](?!\w)")
_ARTICLES = {"a", "an"}
_RETRACING = 0.45
_AGAIN = 2
"""So many words at most are said again with the value."""

_TRIES = 4
_REMEMBERED = 16_384


def repairable_mentions(utterance: Utterance, words: WordRow) -> list[Mention]:
    """The new values that are said in words of their own: whole tokens that no other value shares."""
    return [mention for mention in utterance.mentions if _stands_alone(mention, utterance, words)]


def _stands_alone(mention: Mention, utterance: Utterance, words: WordRow) -> bool:
    following = utterance.text[mention.end : mention.end + 1]
    if mention.start not in words.starts or following.isalnum() or following in _JOINING:
        return False
    if any(
        other.start < mention.end and mention.start < other.end for other in utterance.mentions if other is not mention
    ):
        return False
    at = words.starts.index(mention.start)
    # The corpus may count "the" as a part of the name; anything else before the value belongs to something longer.
    return not words.inside[at] or (words.cores[at - 1] == "the" and not words.inside[at - 1])


def draw_wrong_value(utterance: Utterance, mention: Mention, alternatives: Alternatives) -> str:
    """A plausible other value in the same form, unknown to the utterance and its state; empty if there is none."""
    forms = utterance.turn.state[mention.slot]
    others = alternatives.others(mention.slot, utterance.text[mention.start : mention.end], forms)
    if not others:
        return ""
    text = utterance.text.casefold()
    taken = {form.casefold() for known in utterance.turn.state.values() for form in known}
    for _ in range(_TRIES):
        other = others[int(utterance.random.random() * len(others))]
        folded = other.casefold()
        if folded not in text and folded not in taken and not values.find_value(other, mention.slot, forms):
            return other
    return ""


def build_repair(
    words: WordRow, mention: Mention, wrong: str, term: str, style: AdditionStyle, random: Random
) -> Addition:
    """What is said before the value: the wrong one, with the short words before it where they are said again."""
    at = words.starts.index(mention.start)
    if at and words.cores[at - 1] == "the" and wrong[:4].lower() == "the ":
        wrong = wrong[4:]
    first = _draw_retraced(words, at, random)
    again = words.tokens[first:at]
    if again and again[-1].lower() in _ARTICLES:
        article = "an" if wrong[:1].lower() in "aeiou" else "a"
        again[-1] = article.capitalize() if again[-1][0].isupper() else article
    return Addition(first, style.append(" ".join([*again, wrong]), f", {term}"))


def _draw_retraced(words: WordRow, at: int, random: Random) -> int:
    """The token from which the speaker says the words again."""
    first = at
    while first and at - first < _AGAIN and words.cores[first - 1] in _RETRACED and words.tokens[first - 1].isalpha():
        first -= 1
    if first == at:
        return at
    if words.cores[at - 1] in _ARTICLES or words.inside[at]:
        # An article has to fit its noun, and one that belongs to a name stays with it: both are said again.
        return at - 1
    return first if random.random() < _RETRACING else at


def says_right_values_last(text: str, utterance: Utterance, alternatives: Alternatives) -> bool:
    """Whether each new value that the utterance says is, in `text`, not followed by another one for its slot.

    Another value that a later mention takes back ("for 5 people for 4, no, I mean 2 nights") is that mention's.
    """
    rivals: set[str] = set()
    for mention in sorted(utterance.mentions, key=lambda mention: mention.start, reverse=True):
        forms, surface = utterance.turn.state[mention.slot], utterance.text[mention.start : mention.end]
        others = {_plain(other) for other in alternatives.others(mention.slot, surface, forms)}
        if others:
            now, then = (_text_behind(mention, either, utterance) for either in (text, utterance.text))
            if any(other in now and now.count(other) > then.count(other) for other in others - rivals):
                return False
            rivals |= others
    return True


def _text_behind(mention: Mention, text: str, utterance: Utterance) -> str:
    """What follows in a text on the last place that says the value of a mention; all of it where none does."""
    surface = utterance.text[mention.start : mention.end]
    places = values.find_value(text, mention.slot, utterance.turn.state[mention.slot])
    if places:
        return _plain(text[places[-1].end :])
    return _plain(text[text.rfind(surface) + len(surface) :] if surface in text else text)


@lru_cache(maxsize=_REMEMBERED)
def _plain(text: str) -> str:
    """Small words, each between blanks of its own: no number is found in a longer one, and repeats are counted."""
    return f" {_BETWEEN.sub('  ', text.casefold()).strip()} "
