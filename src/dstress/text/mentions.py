"""Where an utterance says a value of the state.

Every stressor that keeps labels true stands on this: text it must not touch, text it must rewrite together with the
state, and the label guard. Corpora mark some places themselves (`Frame.spans`); elsewhere, and to check the marks, the
text is searched for every way a person would say the value (`value_forms`). `docs/values.md` has the measured recall
and precision.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from dstress.dialogue import ALL, Frame, State, Turn, slot_id, split_values
from dstress.text.letters import LetteredText, Place, letter_text
from dstress.text.value_forms import prepare_value

_BY_PLACE = itemgetter(2, 3)
_NOTHING: list[Any] = []


class Mention(NamedTuple):
    """Characters `start` to `end` (exclusive) of an utterance say `value`, an accepted form of the slot's gold."""

    slot: str
    value: str
    start: int
    end: int


def find_value(text: str, slot: str, forms: Sequence[str]) -> list[Mention]:
    """Every place where `text` says one of the accepted `forms` of the slot id `slot`, in order; none overlap."""
    return list(_find(letter_text(text), slot, tuple(forms))) if text else []


def find_arguments(turn: Turn) -> list[Mention]:
    """Where `turn.user` says the arguments of its calls; of a list, each item by itself."""
    if not turn.calls or not turn.user:
        return []
    text = letter_text(turn.user)
    mentions: list[Mention] = []
    for call in turn.calls:
        for name, values in call.arguments.items():
            listed = next((value for value in values if isinstance(value, list | tuple)), ())
            for forms in (values, *([item] for item in listed)):
                written = (
                    str(int(form)) if isinstance(form, float) and form.is_integer() else str(form)
                    for form in forms
                    if isinstance(form, str | int | float) and not isinstance(form, bool)
                )
                if texts := tuple(filter(None, written)):
                    mentions += _find(text, slot_id(call.tool, name), texts)
    return mentions


def find_mentions(turn: Turn, before: State) -> list[Mention]:
    """Where `turn.user` says the values that it changes, in order. `before` is the state of the turn before."""
    if not turn.user:
        return []
    text = letter_text(turn.user)
    mentions: list[Mention] = []
    for slot, forms in turn.state.items():
        if before.get(slot) != forms:
            mentions += _find(text, slot, forms)
    claims = [
        (slot_id(frame.service, span.slot), span.start, span.end, frame)
        for frame in turn.frames
        for span in frame.spans
    ]
    if claims:
        matched = {mention.slot for mention in mentions}
        missed = [claim for claim in claims if claim[0] not in matched]
        mentions = _drop_disputed(mentions, claims) + _find_annotated(turn, before, missed)
    return _keep_outermost(mentions) if len(mentions) > 1 else mentions


def protected_spans(turn: Turn, before: State) -> list[Place]:
    """The characters of `turn.user` that no text stressor may touch, in disjoint, sorted ranges.

    These are all said values of the state, the values that they replace ("not monday, tuesday"), all spans, and all
    said arguments of calls.
    """
    if not turn.user:
        return []
    text, size, state = letter_text(turn.user), len(turn.user), turn.state
    places = [(max(0, span.start), min(size, span.end)) for frame in turn.frames for span in frame.spans]
    places += [(mention.start, mention.end) for mention in find_arguments(turn)]
    replaced = (entry for entry in before.items() if state.get(entry[0]) != entry[1])
    for slot, forms in (*state.items(), *replaced):
        if mentions := _find(text, slot, _each_value(forms)):
            places += [mention[2:] for mention in mentions]
    return merge_places(places) if places else places


def find_each(text: str, state: State) -> set[tuple[str, str]]:
    """Which of several values that are all wanted a text says: the slots and the values."""
    several = {slot: _each_value(forms) for slot, forms in state.items() if any(ALL in form for form in forms)}
    return {(slot, value) for slot, values in several.items() for value in values if find_value(text, slot, (value,))}


def _each_value(forms: tuple[str, ...]) -> tuple[str, ...]:
    """Every form, and where several values are wanted, each of them."""
    for form in forms:
        if ALL in form:
            return tuple(value for each in forms for value in split_values(each))
    return forms


def merge_places(places: Iterable[Place]) -> list[Place]:
    """The same characters in disjoint, sorted ranges."""
    disjoint: list[Place] = []
    for start, end in sorted(places):
        if disjoint and start <= disjoint[-1][1]:
            disjoint[-1] = disjoint[-1][0], max(disjoint[-1][1], end)
        elif start < end:
            disjoint.append((start, end))
    return disjoint


def _keep_outermost(mentions: list[Mention]) -> list[Mention]:
    """In order; without those inside another slot's ("hotel" in "ashley hotel") whose slot is said elsewhere too."""
    mentions.sort(key=lambda mention: (mention.start, -mention.end))
    outer, inside = mentions[0], []
    for mention in mentions[1:]:
        if mention.end <= outer.end and mention[2:] != outer[2:]:
            inside.append(mention)
        elif mention.end > outer.end:
            outer = mention
    if inside:
        outside = {mention.slot for mention in mentions if mention not in inside}
        mentions = [mention for mention in mentions if mention not in inside or mention.slot not in outside]
    return mentions


_Claim = tuple[str, int, int, Frame]
"""An annotated span: the slot that it gives the characters to, where they are, and the frame that has it."""


def _drop_disputed(mentions: list[Mention], claims: list[_Claim]) -> list[Mention]:
    """What matching finds, less what annotations give to another slot; unless that is all there is of a slot.

    So of two threes, each goes to its slot. Annotations are not trusted blindly: a span adds nothing that matching
    does not find in it, for "same area" is marked as `centre`, but does not say it.
    """
    kept: list[Mention] = []
    doubted: list[Mention] = []
    for mention in mentions:
        owners = [slot for slot, start, end, _ in claims if start < mention.end and mention.start < end]
        (kept if not owners or mention.slot in owners else doubted).append(mention)
    if doubted:
        sure = {mention.slot for mention in kept}
        kept += [mention for mention in doubted if mention.slot not in sure]
    return kept


def _find_annotated(turn: Turn, before: State, missed: list[_Claim]) -> list[Mention]:
    """Spans that matching found nothing for, but whose very words an act gives as another form: NYC is New York."""
    mentions: list[Mention] = []
    for slot, start, end, frame in missed:
        forms = turn.state.get(slot)
        if forms and before.get(slot) != forms and 0 <= start < end <= len(turn.user):
            words, name = turn.user[start:end], slot.partition("-")[2]
            acts = (act for act in frame.acts if act.slot == name and words in act.values)
            canonical = [form for act in acts for form in act.canonical if form in forms]
            mentions += [Mention(slot, form, start, end) for form in canonical[:1]]
    return mentions


def _find(text: LetteredText, slot: str, forms: tuple[str, ...]) -> list[Mention]:
    """The places of every form. Most values of a state are not in a text: their hints tell so at once."""
    letters = text.letters
    value = prepare_value(slot, forms)
    for hint in value.hints:
        if hint in letters:
            break
    else:
        return _NOTHING
    earlier: list[Mention] | None = text.results.get(value)
    if earlier is not None:
        return earlier
    mentions = [Mention(slot, form, start, end) for form, find in value.forms for start, end in find(text)]
    text.results[value] = mentions = _drop_overlaps(mentions) if len(mentions) > 1 else mentions
    return mentions


def _drop_overlaps(mentions: list[Mention]) -> list[Mention]:
    """Of mentions that overlap, the longest; of equally long ones, the first. In one pass: a text may be long."""
    kept: list[Mention] = []
    for mention in sorted(mentions, key=_BY_PLACE):
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
        elif mention.end - mention.start > kept[-1].end - kept[-1].start:
            kept[-1] = mention
    return kept
