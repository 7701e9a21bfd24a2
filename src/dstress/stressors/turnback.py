"""Turnback utterances: turns after something was settled, the user takes it back or changes it.

After "Oh My Mistake!" (Kim et al. 2021, arXiv 2108.12637), which adds such utterances, made of templates, to MultiWOZ
once a topic is over. Here the user's own turn gets one more sentence, so that a dialogue keeps its turns, the system's
next turn takes note of it, and every later state has the new value. A value is changed only where nothing that is said
later holds on to the old one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import Any, NamedTuple

import msgspec

from dstress.dialogue import DONTCARE, Dialogue, Frame, Goal, Span, State, Stress, Turn, service_of, update
from dstress.errors import unknown
from dstress.generators.templates.tokens import flag_of, service_noun
from dstress.generators.templates.unseen_slots import slot_noun
from dstress.resources import Resources
from dstress.stressors.base import DialogueStressor, Effect
from dstress.stressors.disfluency.alternatives import Alternatives, squash
from dstress.text.mentions import find_mentions, find_value
from dstress.text.numbers import number_of
from dstress.text.slot_kinds import kind_of
from dstress.text.slot_names import is_named_entity_slot
from dstress.text.tables import read_table
from dstress.text.writing_style import copy_capitals, corpus_style, opens_sentence, style_of, write

KINDS = ("change", "open")
_BOOKED = frozenset({"time", "date", "people", "nights"})
"""Kinds of slots that a booking is made for; other slots say what to look for."""
_APART = 2
"""A value is taken back so many turns after it was settled, at least."""
_OPENED = 0.25
"""How often a value is left open, where users of the corpus leave the slot open too."""

_replace = msgspec.structs.replace


class Turnback(DialogueStressor):
    """Turns later, the user changes a value or leaves it open, in words and in all later states.

    `kinds`: `change` (another value), `open` (any will do). One value of a dialogue; turns from there on are tagged
    `turnback` and `after`.
    """

    languages = ("en",)
    effect: Effect = "directional"

    def __init__(self, kinds: tuple[str, ...] = KINDS) -> None:
        for kind in kinds:
            if kind not in KINDS:
                raise unknown("kind of turnback", kind, KINDS)
        self.kinds = kinds

    def prepare(self, resources: Resources) -> None:
        """Collect what users say for each slot, and which slots they leave open."""
        super().prepare(resources)
        self._alternatives = Alternatives(resources.schema, resources.corpus)
        self._usual = corpus_style(resources.corpus)
        self._listed = {
            slot: frozenset(map(squash, entry.values))
            for slot, entry in resources.schema.slots.items()
            if entry.categorical and entry.values
        }
        turns = (turn for dialogue in resources.corpus for turn in dialogue.turns)
        self._opened = {slot for turn in turns for slot, forms in turn.state.items() if DONTCARE in forms}

    def rewrite(self, dialogue: Dialogue, random: Random) -> Dialogue:
        """The dialogue with one value taken back, if there is one that can be."""
        settled = list(_find_settled(dialogue))
        random.shuffle(settled)
        for one in settled:
            if self._is_free(dialogue, one):
                new = self._draw_value(dialogue, one, random)
                changed = _turn_back(dialogue, one, new, self._words(dialogue, one, new, random)) if new else None
                if changed is not None:
                    return changed
        return dialogue

    def _is_free(self, dialogue: Dialogue, settled: _Settled) -> bool:
        """Whether nothing hangs on the value: no place that was found by it, no other slot, nothing said later."""
        slot, forms = settled.slot, settled.forms
        later = dialogue.turns[settled.turn :]
        own_service = [other for other in later[-1].state if service_of(other) == service_of(slot) and other != slot]
        kind = kind_of(slot)
        if kind != "town" and (is_named_entity_slot(slot, self.schema) or not (kind or slot in self._listed)):
            return False  # names are what was found, and other words ("oil the garden gate") have forms of their own
        if kind in ("time", "date") and any(kind_of(other) == kind for other in own_service):
            return False  # the order of two dates, or of two times, could break
        if kind not in _BOOKED and (settled.same_topic or self._is_found(kind, own_service)):
            return False
        copies = (
            other
            for turn in later
            for other, values in turn.state.items()
            if other != slot and kind_of(other) == kind and {*map(squash, values)} & {*map(squash, forms)}
        )
        said = any(find_value(text, slot, forms) for turn in later for text in (turn.system, turn.user))
        return not said and not any(copies)

    def _is_found(self, kind: str, own_service: Sequence[str]) -> bool:
        """Whether something has been found, or booked, by what a slot of this kind asks for."""
        kinds = {kind_of(other) for other in own_service}
        named = (is_named_entity_slot(other, self.schema) and kind_of(other) != "town" for other in own_service)
        return any(named) or (kind != "town" and not kinds.isdisjoint(_BOOKED))

    def _draw_value(self, dialogue: Dialogue, settled: _Settled, random: Random) -> str:
        """The value that is wanted now; empty if there is none."""
        slot, forms = settled.slot, settled.forms
        may_open = "open" in self.kinds and slot in self._opened and not settled.same_topic
        if may_open and ("change" not in self.kinds or random.random() < _OPENED):
            return DONTCARE
        taken = {squash(form) for values in dialogue.turns[-1].state.values() for form in values}
        others = self._alternatives.others(slot, forms[0], forms) if "change" in self.kinds else ()
        free = [other for other in others if squash(other) not in taken and self._is_listed(slot, other)]
        return random.choice(free) if free else ""

    def _is_listed(self, slot: str, value: str) -> bool:
        """Whether a slot can have a value, as far as the schema tells."""
        return slot not in self._listed or squash(value) in self._listed[slot]

    def _words(self, dialogue: Dialogue, settled: _Settled, new: str, random: Random) -> tuple[str, str]:
        """What the user adds to the turn, and what the system says to it."""
        table, turn = _table(), dialogue.turns[settled.turn]
        kind = "open" if new == DONTCARE else "change_place" if kind_of(settled.slot) == "town" else "change"
        topic = service_noun(service_of(settled.slot))
        style = style_of(turn.user, turn.system, self._usual)
        phrases = table[kind] if settled.same_topic else table[kind] + table[f"{kind}_returning"]
        sentence = write(
            random.choice(phrases).replace("TOPIC", table["topics"].get(topic, topic)).replace("NOUN", _noun(settled)),
            style,
        )
        shown = copy_capitals(settled.surface, new, name=False)
        sentence = sentence.replace("oldvalue", settled.surface).replace("newvalue", shown)
        end = "" if turn.user.rstrip()[-1:] in ".?!" else write("x.", style)[1:]
        next_system = "".join(later.system for later in dialogue.turns[settled.turn + 1 : settled.turn + 2])
        answer = write(random.choice(table["answers"]), style_of(next_system, turn.system, self._usual))
        return f"{turn.user.rstrip()}{end} {sentence}", answer


class _Settled(NamedTuple):
    """A value that the user said turns before `turn`, and that stays to the end; `surface` is how it was said.

    `same_topic`: nothing new has been settled in `turn`, so that the talk may still be of the value's service.
    """

    slot: str
    forms: tuple[str, ...]
    surface: str
    turn: int
    same_topic: bool


def _find_settled(dialogue: Dialogue) -> Iterator[_Settled]:
    """Values with the turns where they could be taken back: the user is on to something else, and not about to go."""
    turns, before = dialogue.turns, State()
    for number, turn in enumerate(turns):
        for mention in find_mentions(turn, before):
            forms, surface = turn.state[mention.slot], turn.user[mention.start : mention.end]
            if squash(surface) not in map(squash, forms) or flag_of(forms[0]):
                continue
            if surface[0].isupper() and opens_sentence(turn.user, mention.start):
                continue  # its capital may be the sentence's
            if any(later.state.get(mention.slot) != forms for later in turns[number:]):
                continue
            for at in range(number + _APART, len(turns)):
                news = {service_of(slot) for slot in update(turns[at - 1].state, turns[at].state)}
                if service_of(mention.slot) not in news and not _ends(turns, at, bool(news)):
                    yield _Settled(mention.slot, forms, surface, at, same_topic=not news)
        before = turn.state


def _ends(turns: Sequence[Turn], at: int, has_news: bool) -> bool:
    """Whether a turn is a farewell."""
    user = turns[at].user.lower()
    return (not has_news and at + 1 == len(turns)) or any(closing in user for closing in _table()["closings"])


def _turn_back(dialogue: Dialogue, settled: _Settled, new: str, words: tuple[str, str]) -> Dialogue | None:
    """The dialogue with the new value from a turn on; None where the label guard does not find it in the new words."""
    user, answer = words
    slot, turn = settled.slot, dialogue.turns[settled.turn]
    if not find_value(user[len(turn.user.rstrip()) :], slot, (new,)):
        return None
    turns = list(dialogue.turns)
    for number in range(settled.turn, len(turns)):
        old = turns[number]
        stress, tag = old.stress or Stress(old), "after" if number > settled.turn else "turnback"
        turns[number] = _replace(
            old,
            state={name: (new,) if name == slot else forms for name, forms in old.state.items()},
            stress=_replace(stress, tags=(*stress.tags, tag)),
        )
    turns[settled.turn] = _replace(turns[settled.turn], user=user, frames=_frames(dialogue, settled, new, user))
    if settled.turn + 1 < len(turns):
        following = turns[settled.turn + 1]
        turns[settled.turn + 1] = _replace(
            following,
            system=f"{answer} {following.system}".strip(),
            system_frames=tuple(_move(frame, len(answer) + 1) for frame in following.system_frames),
        )
    return _replace(dialogue, turns=tuple(turns), goal=_goal(dialogue.goal, settled, new))


def _frames(dialogue: Dialogue, settled: _Settled, new: str, user: str) -> tuple[Frame, ...]:
    """The turn's frames, with the new value marked as the corpus marked the old one."""
    service, _, name = settled.slot.partition("-")
    frames = dialogue.turns[settled.turn].frames
    told = [
        frame
        for turn in dialogue.turns[: settled.turn]
        for frame in turn.frames
        if frame.service == service
        and name in (*(act.slot for act in frame.acts), *(span.slot for span in frame.spans))
    ]
    if not told:
        return frames
    acts = [
        _replace(act, values=(new,), canonical=(new,) if act.canonical else ())
        for act in told[-1].acts
        if act.slot == name
    ]
    start = user.lower().rfind(new.lower())
    marked = any(span.slot == name for span in told[-1].spans) and start >= 0
    spans = [Span(name, start, start + len(new))] if marked else []
    own = next((frame for frame in frames if frame.service == service), Frame(service, told[-1].intent))
    grown = _replace(own, spans=(*own.spans, *spans), acts=(*own.acts, *acts[:1]))
    return (*(frame for frame in frames if frame.service != service), grown)


def _move(frame: Frame, by: int) -> Frame:
    return _replace(frame, spans=tuple(Span(span.slot, span.start + by, span.end + by) for span in frame.spans))


def _goal(goal: Goal | None, settled: _Settled, new: str) -> Goal | None:
    if goal is None or settled.slot not in goal.inform:
        return goal
    return _replace(goal, inform=goal.inform | {settled.slot: (new,)})


def _noun(settled: _Settled) -> str:
    """The slot in words: "number of people", "price range"."""
    noun = slot_noun(settled.slot)
    noun = str(_table()["nouns"].get(noun, noun))
    counted = number_of(settled.forms[0]) is not None and (noun.endswith("s") or noun == "people")
    return f"number of {noun}" if counted else noun


@cache
def _table() -> dict[str, Any]:
    return read_table(__package__, "data/turnback.toml")
