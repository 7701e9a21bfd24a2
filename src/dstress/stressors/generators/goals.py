"""The goal of a user turn: what the user's words say, and the state that it leads to (CoCo, section 4.2)."""

from __future__ import annotations

from collections.abc import Mapping

from dstress.dialogue import DONTCARE, Schema, State
from dstress.errors import DstressError, unknown
from dstress.stressors.generators.base import Goal
from dstress.text.coreference import find
from dstress.text.letters import fold
from dstress.text.mentions import find_value
from dstress.text.slot_names import SlotNames
from dstress.text.utterance import Utterance

_YES_OR_NO = {"yes": "yes", "true": "yes", "free": "yes", "no": "no", "false": "no"}
_NO_SLOT = "nothing-nothing"  # no utterance names it, so a text that answers it yes or no would answer any slot


def is_flag(value: str) -> bool:
    """Whether a value is a yes or a no. Those are said by what they are about: "free wifi", "no parking"."""
    return fold(value) in _YES_OR_NO


def as_yes_or_no(value: str) -> str:
    """`yes` or `no` for one of a corpus's words for them; empty for any other value."""
    return _YES_OR_NO.get(fold(value), "")


def flag_of(value: str) -> str:
    """`yes`, `no` or `dontcare` for a value that is said in words of its own; empty for any other."""
    return DONTCARE if fold(value) == DONTCARE else as_yes_or_no(value)


def is_bare_answer(words: str, value: str) -> bool:
    """Whether words that say a yes or a no are an answer that does not say to what: "yes", "nope"."""
    return bool(find_value(words, _NO_SLOT, (as_yes_or_no(value),)))


def own_goal(utterance: Utterance) -> Goal:
    """The goal that the user has in the corpus: what the user's words say, and what the label holds besides.

    `yes` and `no` are said by what they are about; a bare "yes" is an answer, and what it agrees to is the system's.
    What the user only refers to is in neither.
    """
    # The slots that the user fills by reference: as the corpus has it, or else by the finder of `coref-jga`.
    earlier = (words for turn in utterance.history for words in (turn.system, turn.user))
    coreferences = utterance.turn.coreferences or find(utterance.turn, utterance.before, list(earlier))
    referred = {coreference.slot for coreference in coreferences}
    own = {slot: forms[0] for slot, forms in additions(utterance).items() if slot not in referred}
    mentioned: dict[str, str] = {}
    for slot, value, start, end in utterance.mentions:
        if slot in own and not (is_flag(value) and is_bare_answer(utterance.text[start:end], value)):
            mentioned.setdefault(slot, value)
    return Goal(
        {slot: mentioned[slot] for slot in own if slot in mentioned},
        {slot: value for slot, value in own.items() if slot not in mentioned},
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
