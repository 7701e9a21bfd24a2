"""Where a dialogue says the names that its states hold: in full, shortened, with a clitic, in any capitals.

A name is looked for as words: `rosas` is also "Rosa's" and "rosa 's", "&" is "and". Beside the whole name its telling
part counts ("the hamilton" for the hamilton lodge), unless that is one ordinary word or a town: someone who books the
Curry Garden may still want curry. Such a word alone is the name only where a span or a capital letter inside a
sentence says so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from dstress.dialogue import DONTCARE, Dialogue, Frame, State, slot_id
from dstress.text import mentions as values
from dstress.text.entity_words import entity_words, split_region
from dstress.text.writing_style import opens_sentence

_TOKEN = re.compile(r"[^\W_]+(?:\s?['’`´]\s?s(?![^\W_]))?|&")
"""A word with its clitic, which a corpus may write apart: `rosa's`, `rosa 's`. No other room needs to see clitics."""
_LAST_WORD = re.compile(r"([A-Za-z]+)\s+$")
_NEXT_WORD = re.compile(r"\s+([A-Za-z]+)")
_LONGEST = 10
"""Letters of the longest word before a name that is looked at, and a blank or two."""
_CLITIC = re.compile(r"\s?['’`´]\s?s$")
_NOT_NAMES = frozenset({"", "none", "yes", "no", "true", "false", "not mentioned", DONTCARE})
_SHORT = 4
"""Fewer letters are no telling part by themselves."""

_GAP = 6
"""Characters between two words of a name, at most."""

Words = tuple[str, ...]
Spans = tuple[tuple[int, int], ...]


class Token(NamedTuple):
    """A word of a text. `bare` is without a clitic: both `pizza hut's` and `rosa's` must find their names."""

    word: str
    bare: str
    start: int
    end: int


class Match(NamedTuple):
    """Words that say the name `name`, or a part of it."""

    name: Words
    tokens: tuple[Token, ...]


def lowered(text: str) -> str:
    """The text in lower case, character by character, so that places stay the same."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(small if len(small := character.lower()) == 1 else character for character in text)


def tokens(text: str) -> list[Token]:
    """The words of a text, in lower case."""
    return [_token(match) for match in _TOKEN.finditer(lowered(text))]


def _token(match: re.Match[str]) -> Token:
    word = "and" if match[0] == "&" else match[0]
    bare = word if word.isalnum() else _CLITIC.sub("", word)
    return Token(word if word == bare else f"{bare}s", bare, *match.span())


@lru_cache(maxsize=16_384)
def words_of_name(value: str) -> Words:
    """A value's words, less an article in front and the region of a town ("London, England" is named London)."""
    words = tuple(token.word for token in tokens(split_region(value)[0]))
    return words[1:] if len(words) > 1 and words[0] in ("the", "a", "an") else words


@lru_cache(maxsize=16_384)
def core(name: Words) -> Words:
    """The telling part of a name: without little words and kinds of places at its ends."""
    idle = entity_words("idle")
    first, last = 0, len(name)
    while first < last and name[first] in idle:
        first += 1
    while last > first and name[last - 1] in idle:
        last -= 1
    return name[first:last]


@lru_cache(maxsize=16_384)
def telling(name: Words) -> Words:
    """The words of a name that can be other words."""
    idle = entity_words("idle")
    return tuple(word for word in core(name) if word not in idle and len(word) > 1 and word.isalpha())


def is_name(value: str) -> bool:
    """Whether a value of a named-entity slot names anything."""
    return value.lower() not in _NOT_NAMES and bool(telling(words_of_name(value)))


class DialogueNames:
    """The names of a dialogue's states, which `entity_slots` hold, and a search for them in its texts.

    `parts`: single words of a name of several count too. They tell where a word of a name is, but not always whose.
    """

    def __init__(self, dialogue: Dialogue, entity_slots: Collection[str], *, parts: bool) -> None:
        self.dialogue, self.entity_slots = dialogue, entity_slots
        self.slots: dict[Words, str] = {}
        """Each name, and the slot that it is first a value of; a slot for names goes before one for places."""
        self.entering: dict[Words, int] = {}
        """The turn whose state has the name first."""
        self._same: dict[Words, Words] = {}
        others: set[Words] = set()
        before: State = {}
        for index, turn in enumerate(dialogue.turns):
            changed = ((slot, forms) for slot, forms in turn.state.items() if before.get(slot) != forms)
            for slot, forms in changed:
                if slot not in entity_slots:
                    others.update(map(words_of_name, forms))
                    continue
                names = [words_of_name(form) for form in forms if is_name(form)]
                for name in names:
                    self.entering.setdefault(name, index)
                    if not self.slots.setdefault(name, slot).endswith("name") and slot.endswith("name"):
                        self.slots[name] = slot
                for other in dict.fromkeys(map(self.entity, names[1:])):
                    if other != self.entity(names[0]):
                        self._same[other] = self.entity(names[0])
            before = turn.state
        self._table = _search_table(self.slots, others, parts) if self.slots else {}
        self._matches: dict[tuple[str, Spans], list[Match]] = {}

    def entity(self, name: Words) -> Words:
        """What a name names, by the telling part of one of its names. All accepted forms of a value name the same."""
        own = core(name)
        while own in self._same:
            own = self._same[own]
        return own

    def missed(self) -> set[Words]:
        """What a user names for the state in words that are not found here: misspelled, or abbreviated beyond a name.

        To rename it would part the label from the words, so it must keep its name.
        """
        missed: set[Words] = set()
        before: State = {}
        for turn in self.dialogue.turns:
            if turn.state == before:
                continue
            matches = self.find(turn.user, marked_spans(turn.frames, self.entity_slots))
            whole = {self.entity(match.name) for match in matches if len(match.tokens) >= len(core(match.name))}
            starts = {token.start for match in matches for token in match.tokens}
            for slot, forms in turn.state.items():
                if before.get(slot) == forms or slot not in self.entity_slots:
                    continue
                named = {self.entity(words_of_name(form)) for form in forms if is_name(form)}
                if not named or named & whole:
                    continue
                # Whether the words that say the value, other than little ones and kinds, are those of no name.
                if any(
                    token.word not in entity_words("idle") and mention.start + token.start not in starts
                    for mention in values.find_value(turn.user, slot, forms)
                    for token in tokens(turn.user[mention.start : mention.end])
                ):
                    missed |= named
            before = turn.state
        return missed

    def find_in_turns(self) -> Iterator[tuple[int, Match]]:
        """Where both sides say names, with the number of the turn."""
        for index, turn in enumerate(self.dialogue.turns):
            for text, frames in ((turn.system, turn.system_frames), (turn.user, turn.frames)):
                for match in self.find(text, marked_spans(frames, self.entity_slots)):
                    yield index, match

    def find(self, text: str, spans: Spans = ()) -> list[Match]:
        """Where a text says names, in order; the longest where several are possible. `spans` are marked as names."""
        if (text, spans) in self._matches:
            return self._matches[text, spans]
        low = lowered(text)
        matches: list[Match] = []
        for anchor, options in self._table.items():
            at = low.find(anchor)
            while at >= 0:
                if not at or not low[at - 1].isalnum():
                    for words, name, sign in options:
                        read = _read_words(low, at, words)
                        if read and _is_shown(sign, text, at, read[-1].end, spans):
                            matches.append(Match(name, read))
                            break
                at = low.find(anchor, at + 1)
        # Of matches that overlap the first stays, of those the longest.
        kept: list[Match] = []
        for match in sorted(matches, key=lambda match: (match.tokens[0].start, -len(match.tokens))):
            if not kept or match.tokens[0].start >= kept[-1].tokens[-1].end:
                kept.append(match)
        self._matches[text, spans] = kept
        return kept


def marked_spans(frames: Sequence[Frame], entity_slots: Collection[str]) -> Spans:
    """Where annotations say that an utterance has a name."""
    return tuple(
        (span.start, span.end)
        for frame in frames
        for span in frame.spans
        if slot_id(frame.service, span.slot) in entity_slots
    )


_Sign = Literal["none", "mark", "not within", "span"]
"""What must speak for it that words are a name: nothing, an annotation or a capital, no `in` before, an annotation."""

_Option = tuple[Words, Words, _Sign]


def _search_table(names: Iterable[Words], others: Collection[Words], parts: bool) -> dict[str, list[_Option]]:
    """By what their first word starts with: words to look for, the name they say, and the sign they need.

    `others` are the values of other slots, which with their single words are no short forms. Longest first. The s of a
    first word may stand apart from it, so it is not looked for.
    """
    options: dict[Words, _Option] = {}
    taken = {*others, *((word,) for other in others for word in other)}
    for name in names:
        for words, sign in _forms(name, taken, parts):
            # Where two names share a short form, it says the one whose whole it is, else the first.
            if words not in options or (words == name != options[words][1]):
                options[words] = words, name, sign
    table: dict[str, list[_Option]] = {}
    for words in sorted(options, key=len, reverse=True):
        table.setdefault(words[0].removesuffix("s") or "s", []).append(options[words])
    return table


def _forms(name: Words, taken: Collection[Words], parts: bool) -> Iterator[tuple[Words, _Sign]]:
    """The name, its telling part, the first words of that, and single words of it."""
    own, distinct, ordinary = core(name), telling(name), entity_words("ordinary")
    yield name, "mark" if len(name) == 1 and name[0] in ordinary else "none"
    # "the university arms" for the university arms hotel: what stands before the kind may be a kind too.
    short = [name[:end] for end in range(len(name) - 1, len(own), -1) if name[end - 1] == own[-1]] if own else []
    short += [own] if own != name else []
    short += [own[:end] for end in range(len(own) - 1, 1, -1) if own[end - 1] not in entity_words("idle")]
    if parts and len(distinct) > 1:
        short += [(word,) for word in distinct]
    for words in short:
        if words in taken:
            yield words, "span"
        elif len(words) > 1:
            yield words, "mark" if words != own and ordinary.issuperset(words) else "none"
        elif words[0] in ordinary or words[0] in entity_words("towns") or len(words[0]) < _SHORT:
            yield words, "mark"
        else:
            yield words, "not within"


def _is_shown(sign: _Sign, text: str, start: int, end: int, spans: Spans) -> bool:
    if sign == "none":
        return True
    if any(low <= start and end <= high for low, high in spans):
        return True
    if sign == "span":
        return False
    if sign == "not within":
        after = _NEXT_WORD.match(text, end)
        if after and after[1].lower() in entity_words("streets"):
            return False
        before = _LAST_WORD.search(text, max(0, start - _LONGEST), start)
        return before is None or before[1].lower() not in entity_words("within")
    return text[start].isupper() and not text[start:end].isupper() and not opens_sentence(text, start)


def _read_words(low: str, at: int, words: Words) -> tuple[Token, ...]:
    """The words of the text from a place on, if they are these; a clitic may follow the last."""
    read: list[Token] = []
    for number, word in enumerate(words):
        match = _TOKEN.match(low, at) if not read else _TOKEN.search(low, at, at + _GAP + 2 * len(word) + _GAP)
        if match is None:
            return ()
        token = _token(match)
        if token.word != word and not (number == len(words) - 1 and token.bare == word):
            return ()
        if read:
            # Between two words of a name stand blanks, a hyphen, or the stop of an abbreviation (St. John's).
            mark = low[at : token.start].strip()
            if mark not in ("", "-", "–", "'", "’", "&") and not (mark == "." and len(read[-1].word) < _SHORT):
                return ()
        read.append(token)
        at = token.end
    return tuple(read)
