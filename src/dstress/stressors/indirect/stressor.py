"""Requests by implication: the user says something from which the value follows, instead of the value.

After the indirect user requests of Mannekote et al. (2024, arXiv 2406.07794), who had language models write them. Ours
come from a table, so that a spec and a seed give one output everywhere, and each was held against the paper's criteria:
it fits the talk, it leaves one of the slot's values, and it takes some knowledge of the world.
"""

from __future__ import annotations

import re
from functools import cache, reduce
from typing import NamedTuple

from dstress.errors import unknown
from dstress.resources import Resources
from dstress.stressors.base import Outcome, Rewrite, TurnStressor, still_says
from dstress.text import writing_style as writing
from dstress.text.inflection import replace_with_articles
from dstress.text.mentions import Mention, find_value
from dstress.text.tables import read_table
from dstress.text.utterance import Utterance
from dstress.text.writing_style import WritingStyle, capitalise

_SENTENCE_END = re.compile(r"\s*[.?!]+(?=\s|$)|\s*$")
_SAID_AS_YES = ("true", "free")
_TAG = "implied "  # before the kind, in the one tag of a turn; `objection` reads the kind back from it


class Indirect(TurnStressor):
    """A value is implied instead of said: "money is no object" for expensive; the label stays.

    Changes one value of a turn: one that is said once, in words that the table can replace. `kinds` limits it to some
    kinds of values; the default leaves out those that the table marks as riddles. Turns are tagged with the kind.
    """

    languages = ("en",)
    rephrases = True
    names_values = True

    def __init__(self, kinds: tuple[str, ...] = ()) -> None:
        for kind in kinds:
            if kind not in _kinds():
                raise unknown("kind of implied value", kind, _kinds())
        self.kinds = kinds or tuple(name for name, kind in _kinds().items() if not kind.riddle)

    def prepare(self, resources: Resources) -> None:
        """Learn how the corpus writes: an utterance without marks does not show it."""
        super().prepare(resources)
        self._usual = writing.corpus_style(resources.corpus)

    def rewrite_utterance(self, utterance: Utterance) -> Outcome:
        """The utterance with one of its values implied."""
        style = writing.style_of(utterance.text, utterance.turn.system, self._usual)
        by_value = [ways for mention in utterance.mentions if (ways := self._ways(utterance, mention, style))]
        return utterance.random.choice(utterance.random.choice(by_value)) if by_value else None

    def objection(self, utterance: Utterance, rewrite: Rewrite) -> str:
        """The label guard: all values are said but the one that is implied, which is said nowhere."""
        kind = _kinds()[rewrite.tags[0].removeprefix(_TAG)]
        lost = [mention for mention in utterance.mentions if not still_says(rewrite.text, utterance, mention)]
        if not lost:
            return "the value was still said"
        is_one = len({(mention.start, mention.end) for mention in lost}) == 1
        return "" if is_one and all(map(kind.has, lost)) else "a value was no longer said"

    def _ways(self, utterance: Utterance, mention: Mention, style: WritingStyle) -> list[Rewrite]:
        """The utterance with a mention's value implied, in every way of the first pattern that fits around it.

        Later kinds and patterns are not tried: the table has the most natural wording first.
        """
        text, slot, forms = utterance.text, mention.slot, utterance.turn.state[mention.slot]
        surface = text[mention.start : mention.end]
        value = "yes" if forms[0].lower() in _SAID_AS_YES else forms[0].lower()
        for name in self.kinds:
            kind = _kinds()[name]
            if value not in kind.implications or not kind.has(mention) or not kind.said.fullmatch(surface):
                continue
            if len(find_value(text, slot, forms)) != 1:
                return []  # said twice, it would still be said once
            for pattern, template in kind.rewrites:
                expression = pattern.replace("{said}", f"(?P<said>{re.escape(surface)})")
                for match in re.finditer(expression, text, re.IGNORECASE):
                    if match.span("said") == mention[2:]:
                        ways = (_imply(text, match, template, way, style) for way in kind.implications[value])
                        return [Rewrite(way, tags=(_TAG + name,)) for way in ways]
        return []


def _imply(text: str, match: re.Match[str], template: str, implication: str, style: WritingStyle) -> str:
    """The text with the matched words replaced; where the template has no room for it, the implication follows."""
    written = writing.write(implication, style)
    new = template.format(implied=written, **match.groupdict())
    if new and style.cased and writing.opens_sentence(text, match.start()):
        new = capitalise(new)
    after = replace_with_articles(text, [(*match.span(), new)])
    if "{implied}" in template:
        return after
    end = next(_SENTENCE_END.finditer(after, match.start() + len(new)))
    mark = writing.write_behind(".", style)
    sentence = capitalise(written) if style.cased else written
    return f"{after[: end.start()]}{end[0].rstrip() or mark} {sentence}{mark}{after[end.end() :]}"


class _Kind(NamedTuple):
    """One kind of values: its slots, how it must be said, the words that are replaced, and what implies each value."""

    riddle: bool
    """Readers found that nobody talks so: used only where `kinds` names it."""
    slots: re.Pattern[str]
    said: re.Pattern[str]
    rewrites: list[tuple[str, str]]
    implications: dict[str, list[str]]

    def has(self, mention: Mention) -> bool:
        """Whether a mention is of one of its slots."""
        return bool(self.slots.search(mention.slot.partition("-")[2]))


@cache
def _kinds() -> dict[str, _Kind]:
    """The kinds of `implications.toml`, with its `<part>` placeholders expanded."""
    kinds = dict(read_table(__package__, "implications.toml"))
    parts = kinds.pop("parts")

    def expand(pattern: str) -> str:
        return reduce(lambda text, name: text.replace(f"<{name}>", parts[name]), parts, pattern)

    return {
        name: _Kind(
            entry.get("riddle", False),
            re.compile(entry["slots"]),
            re.compile(entry.get("said", ".*"), re.IGNORECASE),
            [(expand(pattern), template) for pattern, template in entry["rewrites"]],
            entry["implications"],
        )
        for name, entry in kinds.items()
    }
