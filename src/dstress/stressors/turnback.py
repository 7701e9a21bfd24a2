"""Turnback utterances: turns after something was settled, the user takes it back or changes it.

After "Oh My Mistake!" (Kim et al. 2021, arXiv 2108.12637), which adds such utterances, made of templates, to MultiWOZ
once a topic is over. Here the user's own turn gets one more sentence, so that a dialogue keeps its turns, the system's
next turn takes note of it, and every later state has the new value. A value is changed only where nothing that is said
later holds on to the old one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from random import Random
from typing import NamedTuple

import msgspec

from dstress.dialogue import DONTCARE, Dialogue, Frame, Span, State, Stress, service_of, update
from dstress.errors import unknown
from dstress.resources import Resources
from dstress.stressors.base import DialogueStressor, Effect
from dstress.stressors.disfluency.alternatives import Alternatives, squash
from dstress.stressors.generators.goals import flag_of
from dstress.stressors.generators.templates.library import slot_noun
from dstress.stressors.generators.templates.tokens import service_noun
from dstress.text.mentions import find_mentions, find_value
from dstress.text.numbers import number_of
from dstress.text.slot_names import is_named_entity_slot, kind_of
from dstress.text.tables import read_table
from dstress.text.writing_style import copy_capitals, corpus_style, opens_sentence, style_of, write, write_behind

KINDS = ("change", "open")
_BOOKED = frozenset({"time", "date", "people", "nights"})
"""Kinds of slots that a booking is made for; other slots say what to look for."""
_APART = 2
"""A value is taken back so many turns after it was settled, at least."""
_OPENED = 0.25
"""How often a value is left open, where users of the corpus leave the slot open too."""

_replace = msgspec.structs.replace
_table = partial(read_table, __package__, "data/turnback.toml")


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
        for value in settled:
            if self._is_free(dialogue, value) and (new := self._draw_value(dialogue, value, random)):
                changed = _turn_back(dialogue, value, new, self._words(dialogue, value, new, random))
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
        if kind not in _BOOKED:
            # Something may have been found, or booked, by what a slot of this kind asks for.
            is_booked = kind != "town" and not _BOOKED.isdisjoint(map(kind_of, own_service))
            names = (is_named_entity_slot(other, self.schema) and kind_of(other) != "town" for other in own_service)
            if settled.same_topic or is_booked or any(names):
                return False
        copies = (
            other
            for turn in later
            for other, values in turn.state.items()
            if other != slot and kind_of(other) == kind and {*map(squash, values)} & {*map(squash, forms)}
        )
        is_heard = any(find_value(text, slot, forms) for turn in later for text in (turn.system, turn.user))
        return not is_heard and not any(copies)

    def _draw_value(self, dialogue: Dialogue, settled: _Settled, random: Random) -> str:
        """The value that is wanted now; empty if there is none."""
        slot, forms = settled.slot, settled.forms
        may_open = "open" in self.kinds and slot in self._opened and not settled.same_topic
        if may_open and ("change" not in self.kinds or random.random() < _OPENED):
            return DONTCARE
        taken = {squash(form) for values in dialogue.turns[-1].state.values() for form in values}
        others = self._alternatives.others(slot, forms[0], forms) if "change" in self.kinds else ()
        listed = self._listed.get(slot)
        free = [other for other in others if squash(other) not in taken and (not listed or squash(other) in listed)]
        return random.choice(free) if free else ""

    def _words(self, dialogue: Dialogue, settled: _Settled, new: str, random: Random) -> tuple[str, str]:
        """What the user adds to the turn, and what the system says to it."""
        table, turn = _table(), dialogue.turns[settled.turn]
        kind = "open" if new == DONTCARE else "change_place" if kind_of(settled.slot) == "town" else "change"
        topic, noun = service_noun(service_of(settled.slot)), slot_noun(settled.slot)
        noun = table["nouns"].get(noun, noun)
        if number_of(settled.forms[0]) is not None and (noun.endswith("s") or noun == "people"):
            noun = f"number of {noun}"
        style = style_of(turn.user, turn.system, self._usual)
        phrase = random.choice(table[kind] if settled.same_topic else table[kind] + table[f"{kind}_returning"])
        sentence = write(phrase.replace("TOPIC", table["topics"].get(topic, topic)).replace("NOUN", noun), style)
        shown = copy_capitals(settled.surface, new, name=False)
        sentence = sentence.replace("oldvalue", settled.surface).replace("newvalue", shown)
        end = "" if turn.user.rstrip()[-1:] in ".?!" else write_behind(".", style)
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
            is_name = squash(surface) in map(squash, forms) and not flag_of(forms[0])
            # A capital at the beginning of a sentence may be the sentence's.
            is_capital = surface[0].isupper() and opens_sentence(turn.user, mention.start)
            stays = all(later.state.get(mention.slot) == forms for later in turns[number:])
            if not is_name or is_capital or not stays:
                continue
            for at in range(number + _APART, len(turns)):
                news = {service_of(slot) for slot in update(turns[at - 1].state, turns[at].state)}
                user = turns[at].user.lower()
                is_farewell = (not news and at + 1 == len(turns)) or any(word in user for word in _table()["closings"])
                if service_of(mention.slot) not in news and not is_farewell:
                    yield _Settled(mention.slot, forms, surface, at, same_topic=not news)
        before = turn.state


def _turn_back(dialogue: Dialogue, settled: _Settled, new: str, words: tuple[str, str]) -> Dialogue | None:
    """The dialogue with the new value from a turn on; None where the label guard does not find it in the new words."""
    user, answer = words
    slot, turn = settled.slot, dialogue.turns[settled.turn]
    if not find_value(user[len(turn.user.rstrip()) :], slot, (new,)):
        return None
    turns = list(dialogue.turns)
    for number, old in enumerate(turns[settled.turn :], settled.turn):
        stress, tag = old.stress or Stress(old), "after" if number > settled.turn else "turnback"
        state = {name: (new,) if name == slot else forms for name, forms in old.state.items()}
        turns[number] = _replace(old, state=state, stress=_replace(stress, tags=(*stress.tags, tag)))
    turns[settled.turn] = _replace(turns[settled.turn], user=user, frames=_frames(dialogue, settled, new, user))
    for following in turns[settled.turn + 1 : settled.turn + 2]:
        moved = len(answer) + 1
        frames = (
            _replace(frame, spans=tuple(Span(span.slot, span.start + moved, span.end + moved) for span in frame.spans))
            for frame in following.system_frames
        )
        system = f"{answer} {following.system}".strip()
        turns[settled.turn + 1] = _replace(following, system=system, system_frames=tuple(frames))
    goal = dialogue.goal
    if goal is not None and slot in goal.inform:
        goal = _replace(goal, inform=goal.inform | {slot: (new,)})
    return _replace(dialogue, turns=tuple(turns), goal=goal)


def _frames(dialogue: Dialogue, settled: _Settled, new: str, user: str) -> tuple[Frame, ...]:
    """The turn's frames, with the new value marked as the corpus marked the old one."""
    service, _, name = settled.slot.partition("-")
    frames = dialogue.turns[settled.turn].frames
    earlier = (frame for turn in dialogue.turns[: settled.turn] for frame in turn.frames if frame.service == service)
    marked = [
        frame for frame in earlier if name in (*(act.slot for act in frame.acts), *(span.slot for span in frame.spans))
    ]
    if not marked:
        return frames
    before = marked[-1]
    own_acts = [act for act in before.acts if act.slot == name][:1]
    acts = [_replace(act, values=(new,), canonical=(new,) if act.canonical else ()) for act in own_acts]
    start = user.lower().rfind(new.lower())
    has_span = start >= 0 and any(span.slot == name for span in before.spans)
    spans = [Span(name, start, start + len(new))] if has_span else []
    own = next((frame for frame in frames if frame.service == service), Frame(service, before.intent))
    grown = _replace(own, spans=(*own.spans, *spans), acts=(*own.acts, *acts))
    return (*(frame for frame in frames if frame.service != service), grown)
