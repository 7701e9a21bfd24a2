"""The goal of a user turn: what the user's words say, and the state that it leads to (CoCo, section 4.2)."""

from __future__ import annotations

from collections.abc import Mapping

from dstress.dialogue import Schema, State
from dstress.errors import DstressError, unknown
from dstress.generators.base import Goal
from dstress.generators.flags import is_bare_answer, is_flag
from dstress.text.coreference import find
from dstress.text.slot_names import SlotNames
from dstress.text.utterance import Utterance


def own_goal(utterance: Utterance) -> Goal:
    """The goal that the user has in the corpus: what the user's words say, and what the label holds besides.

    `yes` and `no` are said by what they are about; a bare "yes" is an answer, and what it agrees to is the system's.
    What the user only refers to is in neither.
    """
    added = additions(utterance)
    # The slots that the user fills by reference: as the corpus has it, or else by the finder of `coref-jga`.
    coreferences = utterance.turn.coreferences
    if not coreferences:
        earlier = [words for turn in utterance.history for words in (turn.system, turn.user)]
        coreferences = tuple(find(utterance.turn, utterance.before, earlier))
    referred = {coreference.slot for coreference in coreferences}
    mentioned: dict[str, str] = {}
    for slot, value, start, end in utterance.mentions:
        if slot in mentioned or slot in referred or slot not in added:
            continue
        if not (is_flag(value) and is_bare_answer(utterance.text[start:end], value)):
            mentioned[slot] = value
    return Goal(
        {slot: mentioned[slot] for slot in added if slot in mentioned},
        {slot: forms[0] for slot, forms in added.items() if slot not in mentioned and slot not in referred},
    )


def additions(utterance: Utterance) -> State:
    """The slots that the turn gives a value to."""
    before = utterance.before
    return {slot: forms for slot, forms in utterance.turn.state.items() if before.get(slot) != forms and forms}


def state_with(utterance: Utterance, goal: Goal) -> State:
    """The state after the turn, had the user had this goal (CoCo's rule for B_t).

    It is the state before the turn with the goal on top. A slot that the goal drops so keeps the value that it had
    before, if any, and so does one that the label takes back. A value that the label has too keeps its other forms.
    """
    after = utterance.turn.state
    state = dict(utterance.before)
    for slot, value in (*goal.unspoken.items(), *goal.spoken.items()):
        forms = after.get(slot, ())
        state[slot] = forms if value in forms else (value,)
    return state


def read_goal(values: Mapping[str, str], schema: Schema, unspoken: Mapping[str, str] | None = None) -> Goal:
    """A goal that a person gives: slots in any spelling, with the values that the user is to say.

    `unspoken` is what the turn holds besides (see `own_goal`); a slot that is given leaves it.
    """
    if not values:
        raise DstressError("the goal is empty", where="the goal", fix='give slots with values: {"hotel-area": "west"}')
    names, spoken = SlotNames(schema), dict[str, str]()
    for name, value in values.items():
        slot = names.split(name)
        if slot not in schema.slots:
            raise unknown("slot", name, schema.slots, where="the goal", fix="slots are written as service-slot")
        if slot in spoken:
            raise DstressError(f"the slot {slot} is there twice, also as {name!r}", where="the goal")
        if not str(value).strip():
            raise DstressError(f"{slot} has no value", where="the goal", fix="give one, or leave the slot out")
        spoken[slot] = str(value).strip()
    return Goal(spoken, {slot: value for slot, value in (unspoken or {}).items() if slot not in spoken})
