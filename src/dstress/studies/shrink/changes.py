"""What stressors did to the dialogue up to one turn, in pieces that can be taken back one by one.

A piece is a recorded edit, or a word of it. What cannot be separated stays one piece:
- edits that say a changed label (another value in the words and in the state), in every turn, with that label;
- a whole utterance that was put in another's place, such as one out of domain;
- an edit that names a value which the label does not hold, or denies something: half of "on monday, no, tuesday" is
  another wish.

The history is the one that the turn follows on: under a stressor of single turns it is the original's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Literal, NamedTuple

import msgspec
from rapidfuzz.distance import LCSseq

from dstress.dialogue import Dialogue, Edit, State, Turn
from dstress.studies.shrink.ddmin import Parts
from dstress.text.edits import apply, edits_between
from dstress.text.mentions import find_mentions, find_value
from dstress.text.tokens import words_in

Speaker = Literal["user", "system"]

_WORD = re.compile(r"\S+")
_WITH_BLANK_BEFORE = re.compile(r"\s*\S+|\s+$")
_WITH_BLANK_AFTER = re.compile(r"\S+\s*|^\s+")
_DENIAL = re.compile(
    r"\b(?:no|not|never|nor|neither|without|except|instead|rather|meant|mean|sorry|actually|wait|hang on|hold on"
    r"|oops|whoops|pardon|excuse|mistake|correction|scratch|make (?:it|that)|let me|change)\b|n['’]t\b"
)
"""Words that turn what stands beside them into something else, or that take something back."""


class PlacedEdit(msgspec.Struct, frozen=True):
    """An edit, and whose words in which turn it is of; it starts at a character of the original."""

    turn: int
    speaker: Speaker
    start: int
    before: str
    after: str

    @property
    def place(self) -> tuple[int, str]:
        """The utterance that it is of."""
        return self.turn, self.speaker


class Piece(NamedTuple):
    """Edits that only go together, the slots whose labels go with them, and the recorded edit that they are of."""

    edits: tuple[PlacedEdit, ...]
    slots: frozenset[str] = frozenset()
    group: int = 0
    turns: frozenset[int] = frozenset()
    """Turns whose frames and flags go with it: their whole utterance is another."""


class Manner(NamedTuple):
    """How a stressor changes words, and what words of its corpus may mean."""

    guarded: bool
    """Whether its words still say every label, plainly or not."""
    rewords: bool
    """Whether it may say something in other words throughout, which cannot be mixed with the old ones."""
    says_value: Callable[[str], bool]
    """Tells whether words name a value that some label of the corpus holds."""


class Changes:
    """What became of a dialogue up to one turn."""

    def __init__(self, stressed: Dialogue, turn: int, manner: Manner) -> None:
        seen = stressed.first(turn + 1)
        after = [*(past.remembered for past in seen.turns[:turn]), seen.turns[turn]]
        self.turn = turn
        self.before = [shown.original for shown in seen.turns]
        self.after = [msgspec.structs.replace(shown, stress=None) for shown in after]
        self._dialogue = seen
        self._manner = manner
        self.pieces = list(self._split())

    @property
    def groups(self) -> list[Parts]:
        """The pieces of each edit that was recorded."""
        groups: dict[int, list[int]] = {}
        for number, piece in enumerate(self.pieces):
            groups.setdefault(piece.group, []).append(number)
        return [frozenset(group) for group in groups.values()]

    def dialogue(self, parts: Iterable[int]) -> Dialogue:
        """The dialogue with only these pieces of the change."""
        chosen = [self.pieces[number] for number in sorted(parts)]
        edits: dict[tuple[int, str], list[PlacedEdit]] = {}
        for edit in chain.from_iterable(piece.edits for piece in chosen):
            edits.setdefault(edit.place, []).append(edit)
        slots = frozenset().union(*(piece.slots for piece in chosen))
        whole = frozenset().union(*(piece.turns for piece in chosen))
        turns = []
        for number, (before, after) in enumerate(zip(self.before, self.after, strict=True)):
            user, system = (
                _apply(was, now, edits.get((number, speaker), ()))
                for speaker, was, now in (("user", before.user, after.user), ("system", before.system, after.system))
            )
            labels = {slot: forms for slot, forms in before.state.items() if slot not in slots}
            labels |= {slot: forms for slot, forms in after.state.items() if slot in slots}
            rest = after if number in whole else before
            turns.append(
                msgspec.structs.replace(
                    before, user=user, system=system, state=labels, frames=rest.frames, ood=rest.ood
                )
            )
        return msgspec.structs.replace(self._dialogue, turns=tuple(turns))

    def is_true(self, dialogue: Dialogue) -> bool:
        """The label guard: every value that the stressed words still say for their label is said here for its own."""
        before: State = {}
        for number, (turn, required) in enumerate(zip(dialogue.turns, self._required, strict=True)):
            if not turn.user.strip() and self.before[number].user.strip():
                return False
            for slot in required:
                forms = turn.state.get(slot, ())
                if forms and forms != before.get(slot) and not find_value(turn.user, slot, forms):
                    return False
            before = turn.state
        return True

    @cached_property
    def _required(self) -> list[list[str]]:
        """Of each turn that changed, the slots that the original says and the stressed words say too."""
        required, before = [], State()
        for old, new in zip(self.before, self.after, strict=True):
            mentioned = {mention.slot for mention in find_mentions(old, before)} if old.user != new.user else set()
            both = (old, new)  # what only an annotation finds in the original cannot be looked for
            required.append(
                [s for s in sorted(mentioned) if all(find_value(turn.user, s, turn.state.get(s, ())) for turn in both)]
            )
            before = old.state
        return required

    def edits(self, parts: Iterable[int]) -> list[tuple[PlacedEdit, Parts]]:
        """What a reader sees as edits, each with its pieces: neighbours are one."""
        placed = [(edit, number) for number in sorted(parts) for edit in self.pieces[number].edits]
        placed.sort(key=lambda item: (item[0].turn, item[0].speaker == "user", item[0].start, item[1]))
        shown: list[tuple[PlacedEdit, Parts]] = []
        for edit, number in placed:
            if shown and (last := shown[-1][0]).place == edit.place and last.start + len(last.before) == edit.start:
                joined = msgspec.structs.replace(last, before=last.before + edit.before, after=last.after + edit.after)
                shown[-1] = (joined, shown[-1][1] | {number})
            else:
                shown.append((edit, frozenset([number])))
        return shown

    def shown(self, parts: Parts) -> list[Parts]:
        """The pieces of each edit that a reader sees."""
        return list(dict.fromkeys(numbers for _, numbers in self.edits(parts)))

    def _split(self) -> Iterator[Piece]:
        """The pieces, in the order of the dialogue."""
        units: list[PlacedEdit] = []
        groups: list[int] = []
        bundles: list[set[int]] = []
        whole: dict[int, int] = {}
        before: State = {}
        for number, (old, new) in enumerate(zip(self.before, self.after, strict=True)):
            other = old.ood != new.ood or _services(old) != _services(new)
            spoken: tuple[tuple[Speaker, str, str], ...] = (
                ("system", old.system, new.system),
                ("user", old.user, new.user),
            )
            for speaker, was, now in spoken:
                first = len(units)
                words_of_both = [words_in(text.casefold()) for text in (was, now)]
                shared = LCSseq.similarity(*words_of_both)
                # With less than half of the shorter one in the longer, these are two ways of saying it.
                is_reworded = 2 * shared < min(map(len, words_of_both))
                if speaker == "user" and (other or self._manner.rewords) and is_reworded:
                    units.append(PlacedEdit(number, speaker, 0, was, now))
                    groups.append(len(groups))
                    continue
                for edit in edits_between(was, now):
                    words = self._words(_trimmed(PlacedEdit(number, speaker, edit.start, edit.before, edit.after)))
                    groups += [len(groups)] * len(words)
                    units += words
            # The new words may say a value of the label in a way that only people find, such as "me and my wife".
            mentioned = {mention.slot for mention in find_mentions(old, before)} if old.user != new.user else set()
            hides_value = any(
                slot in new.state and not find_value(new.user, slot, new.state[slot]) for slot in mentioned
            )
            if other or (self._manner.guarded and hides_value):
                bundles.append(set(range(first, len(units))))
            whole |= dict.fromkeys(range(first, len(units)) if other else (), number)
            before = old.state
        pairs = list(zip(self.before, self.after, strict=True))
        named = dict.fromkeys(slot for old, new in pairs for slot in (*old.state, *new.state))
        changed = [slot for slot in named if any(old.state.get(slot) != new.state.get(slot) for old, new in pairs)]
        slots = {slot: self._carriers(slot, units) for slot in changed}
        for members in _joined([*bundles, *slots.values(), *({unit} for unit in range(len(units)))]):
            labels = frozenset(slot for slot, carriers in slots.items() if carriers & set(members))
            turns = frozenset(whole[unit] for unit in members if unit in whole)
            group = groups[members[0]] if len(members) == 1 else len(groups) + members[0]
            yield Piece(tuple(units[unit] for unit in members), labels, group, turns)

    def _carriers(self, slot: str, units: Sequence[PlacedEdit]) -> set[int]:
        """The edits that say a slot's changed label, old or new; where none does, all of the turn that changes it."""
        pairs = list(zip(self.before, self.after, strict=True))
        changed = [number for number, (old, new) in enumerate(pairs) if old.state.get(slot) != new.state.get(slot)]
        forms = [{turns[number].state.get(slot, ()) for number in changed} for turns in (self.before, self.after)]
        carriers = set()
        for index, edit in enumerate(units):
            grown = sum(len(e.after) - len(e.before) for e in units[:index] if e.place == edit.place)
            sides = (
                (getattr(self.before[edit.turn], edit.speaker), edit.start, edit.before, forms[0]),
                (getattr(self.after[edit.turn], edit.speaker), edit.start + grown, edit.after, forms[1]),
            )
            if any(
                mention.start < start + len(words) and start < mention.end
                for text, start, words, all_forms in sides
                for value_forms in filter(None, all_forms)
                for mention in find_value(text, slot, value_forms)
            ):
                carriers.add(index)
        here = {index for index, edit in enumerate(units) if edit.turn == changed[0]}
        return carriers or here or set(range(len(units)))

    def _words(self, edit: PlacedEdit) -> list[PlacedEdit]:
        """The edit word by word: of what was only added or only left out, and of words that stand for one each.

        Words that only mean together what they mean stay together.
        """
        is_replaced = bool(edit.before and edit.after)
        if is_replaced and _WORD.split(edit.before) == _WORD.split(edit.after):  # the same blanks around as many words
            return [
                msgspec.structs.replace(edit, start=edit.start + was.start(), before=was[0], after=now[0])
                for was, now in zip(_WORD.finditer(edit.before), _WORD.finditer(edit.after), strict=True)
                if was[0] != now[0]
            ]
        if is_replaced or _DENIAL.search(f"{edit.before} {edit.after}".lower()) or self._manner.says_value(edit.after):
            return [edit]
        # A word takes the blank along that parts it from what stays.
        before: str = getattr(self.before[edit.turn], edit.speaker)[: edit.start]
        parts = _WITH_BLANK_BEFORE if before and not before[-1].isspace() else _WITH_BLANK_AFTER
        left_out = [
            msgspec.structs.replace(edit, start=edit.start + word.start(), before=word[0], after="")
            for word in parts.finditer(edit.before)
        ]
        return left_out or [msgspec.structs.replace(edit, after=word) for word in parts.findall(edit.after)]


def _trimmed(edit: PlacedEdit) -> PlacedEdit:
    """Without the whole words that both sides end with: `3` -> `i was thinking 3` only adds something."""
    old, new = _WITH_BLANK_AFTER.findall(edit.before), _WITH_BLANK_AFTER.findall(edit.after)
    shared = 0
    while shared < min(len(old), len(new)) and old[-1 - shared] == new[-1 - shared]:
        shared += 1
    before, after = "".join(old[: len(old) - shared]), "".join(new[: len(new) - shared])
    return msgspec.structs.replace(edit, before=before, after=after)


def _apply(original: str, stressed: str, edits: Iterable[PlacedEdit]) -> str:
    """The original with some edits; where its first words are gone, no blank is left of them."""
    ordered = sorted(edits, key=lambda edit: edit.start)
    text = apply(original, [Edit(edit.start, edit.before, edit.after) for edit in ordered])
    return text if original[:1].isspace() or stressed[:1].isspace() else text.lstrip()


def _services(turn: Turn) -> set[str]:
    return {frame.service for frame in turn.frames}


def _joined(sets: Iterable[set[int]]) -> list[list[int]]:
    """Sets that share a member become one; sorted, in the order of their first members."""
    bundles: list[set[int]] = []
    for members in sets:
        touching = [bundle for bundle in bundles if bundle & members]
        bundles = [bundle for bundle in bundles if not bundle & members] + [members.union(*touching)]
    return sorted(sorted(bundle) for bundle in bundles if bundle)
