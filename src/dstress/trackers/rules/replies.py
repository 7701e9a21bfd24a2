"""What the user says without naming a value: yes, no, "I don't mind", `the same day`, what the system offers or asks.

Each rule takes a turn and the slots that the rules before it filled, and gives further ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from dstress.dialogue import DONTCARE, service_of
from dstress.text.coreference import Kind, bare_name, kind_of
from dstress.trackers.rules.evidence import Cue
from dstress.trackers.rules.slot_choice import choose_slots, rejected_slots
from dstress.trackers.rules.slot_profiles import Profile
from dstress.trackers.rules.turn_evidence import TurnEvidence
from dstress.trackers.rules.words import pattern, table, word_set, words_of_match

_REACH = 5
_FIRST_WORDS = 4
_SHORT = 7
_LONGEST_NAME = 4
_AFTER = 5
"""Words after an expression that may say which service it means: `the day` of the taxi ride."""


def update_state(turn: TurnEvidence) -> dict[str, str]:
    """The state after a turn: the previous state, with what the user has changed."""
    # By value, yes or no, pointing, naming, not caring, agreeing: the plainest first.
    update = choose_slots(turn) | read_flags(turn)
    for rule in (resolve_references, read_bare_name, read_dontcares, accept_proposal, accept_offer, confirm_values):
        update |= rule(turn, update)
    dropped = drop_slots(turn, update)
    return {slot: value for slot, value in turn.state.items() if slot not in dropped} | update


def read_flags(turn: TurnEvidence) -> dict[str, str]:
    """Yes and no, by the words for a slot, or as the answer to a question about it."""
    filled: dict[str, str] = {}
    words, flags = turn.user.words, [profile for profile in turn.slots.values() if profile.kind == "flag"]
    for cues, is_wish in ((turn.user.cues, True), (turn.user.denied, False)):
        for cue in cues:
            service = turn.service_at(cue.first)
            named = [profile for profile in flags if (profile.concept, profile.service) == (cue.name, service)]
            if named and not _asks_of_offer(cue, turn, service):
                first = max(words.clause(cue.first)[0], cue.first - _REACH)
                is_denied = not word_set("negations").isdisjoint(words.words[first : cue.first])
                filled |= {profile.slot: profile.flag(is_wish != is_denied) for profile in named}

    # A plain yes or no to the system's question.
    start = " ".join(words.words[:_FIRST_WORDS])
    is_no = bool(pattern("declines").match(start))
    if is_no or pattern("accepts").search(start):
        requested = sorted(slot for slot in turn.requested if turn.slots[slot].kind == "flag" and slot not in filled)
        filled |= {slot: turn.slots[slot].flag(not is_no) for slot in requested}
    return filled


def _asks_of_offer(cue: Cue, turn: TurnEvidence, service: str) -> bool:
    """Whether the user asks if the place at hand has something: a question about it, not a wish."""
    words = turn.user.words
    if words.sentences[cue.first] not in turn.user.questions:
        return False
    first, _ = words.sentence(cue.first)
    verb, *subject = words.words[first : first + 2]
    if verb not in word_set("asking") or word_set("the_one").isdisjoint(subject):
        return False
    offers = [mention for mention in turn.system.mentions if any(turn.slots[slot].is_name for slot in mention.options)]
    return turn.has_name_for(service) or len(offers) == 1


def resolve_references(turn: TurnEvidence, filled: dict[str, str]) -> dict[str, str]:
    """Slots that an expression fills from another slot of the state: `the same day`, `from the hotel`.

    The expressions are those of `dstress.text.coreference`; here the value they stand for has to be found.
    """
    if word_set("pointers").isdisjoint(turn.user.words.words):
        return {}
    services = set(turn.user.about) or {turn.focus}
    resolved: dict[str, str] = {}
    for slot, profile in turn.slots.items():
        is_free = profile.service in services and slot not in turn.state and slot not in filled
        if is_free and (kind := kind_of(slot)):
            match = next(filter(None, (expression.search(turn.user.text) for expression in kind.expressions)), None)
            if match and (value := _antecedent(kind, profile, match, turn, resolved)):
                resolved[slot] = value
    return resolved


def _antecedent(kind: Kind, own: Profile, match: re.Match[str], turn: TurnEvidence, resolved: dict[str, str]) -> str:
    """The value that is meant: of the service that the expression names, else the last one of the state."""
    first, last = words_of_match(match)
    cues = turn.user.services
    named = {cue.name for cue in cues if first <= cue.first < last}
    named = named or {cue.name for cue in cues if cue.is_reference and last <= cue.first < last + _AFTER}
    options = [
        value
        for other, value in turn.state.items()
        if (profile := turn.slots.get(other))
        and profile.service != own.service
        and profile.kind == own.kind
        and kind.antecedents.fullmatch(bare_name(other))
        and value != DONTCARE
        and value not in resolved.values()
        and (not named or service_of(other) in named)
        and (own.kind != "listed" or value in own.values)
    ]
    return options[-1] if options else ""


def read_bare_name(turn: TurnEvidence, filled: dict[str, str]) -> dict[str, str]:
    """A name that is all the answer to a question for it: `Upper Wray.`"""
    requested = [slot for slot in turn.requested if turn.slots[slot].kind in ("name", "open") and slot not in filled]
    words = turn.user.words
    if len(requested) != 1 or not words.words:
        return {}
    first, last = words.clause(0)
    while first < last and words.words[first] in word_set("fillers"):
        first += 1
    while last > first and words.words[last - 1] in word_set("fillers"):
        last -= 1
    row = words.words[first:last]
    is_taken = any(
        first <= mention.first < last and (mention.first == first or mention.kind != "listed")
        for mention in turn.user.mentions
    )
    if not 0 < len(row) <= _LONGEST_NAME or is_taken:
        return {}
    replies = ("accepts", "declines", "open")
    is_reply = any(pattern(reply).search(" ".join(row)) for reply in replies)
    if is_reply or not (word_set("no_names") | word_set("boundaries")).isdisjoint(row):
        return {}
    name = words.span_text(first, last)
    return {requested[0]: name.lower() if turn.style.lower else name}


def read_dontcares(turn: TurnEvidence, filled: dict[str, str]) -> dict[str, str]:
    """Slots the user does not care about: named beside an expression, else those that the system asked for."""
    text, words, opened = turn.user.text, turn.user.words, dict[str, str]()
    for match in pattern("open").finditer(text):
        first, last = words_of_match(match)
        start, end = words.clause(first)
        concepts = {cue.name for cue in turn.user.cues if start <= cue.first < max(end, last)}
        service = turn.service_at(first)
        named = [slot for slot, each in turn.slots.items() if each.service == service and each.concept in concepts]
        opened |= _opened(named, turn, filled) or _opened(turn.requested, turn, filled)
    if opened or filled or len(words) > _SHORT or not pattern("open_alone").match(text):
        return opened
    return _opened(turn.requested, turn, filled)


def _opened(slots: Iterable[str], turn: TurnEvidence, filled: dict[str, str]) -> dict[str, str]:
    """Slots without names, which nobody leaves open, and without what is filled; a yes or no gives way.

    Who gives one end of a journey its time has left the other out, not open.
    """
    ends = {slot: each for slot, each in turn.slots.items() if each.kind == "time" and each.role}
    settled = {ends[slot].service for slot in (*turn.state, *filled) if slot in ends}
    kept = [
        slot
        for slot in sorted(slots)
        if turn.slots[slot].kind not in ("name", "open")
        and (slot not in filled or turn.slots[slot].kind == "flag")
        and not (slot in ends and turn.slots[slot].service in settled)
    ]
    if any(slot in ends and ends[slot].role == "from" for slot in kept):
        kept = [slot for slot in kept if slot not in ends or ends[slot].role == "from"]
    return dict.fromkeys(kept, DONTCARE)


def _agrees(text: str) -> bool:
    return bool(pattern("accepts").search(text)) and not pattern("declines").search(text)


def accept_proposal(turn: TurnEvidence, filled: dict[str, str]) -> dict[str, str]:
    """What the system proposes in place of what it does not have: `Would 19:00 do instead?`, and the user agrees."""
    if filled or not turn.system.questions or not pattern("unavailable").search(turn.system.text):
        return {}
    if not _agrees(turn.user.text.replace("no problem", "")):
        return {}
    values = [
        (slot, value)
        for mention in turn.system.mentions
        if mention.kind in ("time", "listed", "date")
        for slot, value in mention.options.items()
        if turn.slots[slot].service == turn.focus
    ]
    missing = {slot for slot, value in values if turn.state.get(slot) == value and value != DONTCARE}
    return {slot: value for slot, value in values if slot in missing and turn.state[slot] != value}


def accept_offer(turn: TurnEvidence, filled: dict[str, str]) -> dict[str, str]:
    """The one name that the system offered, if the user goes on with it."""
    slot, name = _offered_name(turn)
    text, accepts = turn.user.text, pattern("accepts")
    if not slot or slot in filled or pattern("refuses").search(text):
        return {}
    service, is_required = turn.slots[slot].service, turn.slots[slot].is_required
    # Who agrees first may go on to something else at once.
    if service != turn.current and not (service == turn.focus and accepts.match(text)):
        return {}
    # Where a name is what a search is for, to ask about it is to take it up; for a booking, the user has to agree.
    asks = bool(pattern("asks").search(text))
    goes_on = (asks and not is_required) or _agrees(text)
    books = not asks and pattern("books").search(text) and not pattern("declines").search(text)
    return {slot: name} if goes_on or books else {}


def _offered_name(turn: TurnEvidence) -> tuple[str, str]:
    """The slot and the name, if the system said one name only: from a list, else by its capitals."""
    if not turn.offer.says_name:
        return "", ""
    slots = [slot for slot, profile in turn.slots.items() if profile.is_name and profile.service == turn.focus]
    # Where the user has to agree, a question may come before the answer.
    offer = turn.offer if slots and turn.slots[slots[0]].is_required else turn.system
    listed = set()
    for mention in offer.mentions:
        options = [(slot, value) for slot, value in mention.options.items() if turn.slots[slot].is_name]
        if len(options) == 1:  # if a list has the name, only one service does
            listed.add(options[0])
    if listed:
        return listed.pop() if len(listed) == 1 else ("", "")
    names = {cue.name for cue in offer.names}
    return (slots[0], names.pop()) if len(names) == 1 and slots else ("", "")


def confirm_values(turn: TurnEvidence, filled: dict[str, str]) -> dict[str, str]:
    """What the system repeats for confirmation beyond what it was told, and the user confirms."""
    if not pattern("confirms").search(turn.system.text) or not _agrees(turn.user.text):
        return {}
    repeated = choose_slots(turn._replace(user=turn.system, requested=frozenset(), state={}))
    return {slot: value for slot, value in repeated.items() if slot not in turn.state and slot not in filled}


def drop_slots(turn: TurnEvidence, filled: Mapping[str, str]) -> set[str]:
    """What the user lets go: a whole service, a name (`not Moonfish then`), or the other end of a journey."""
    dropped = {slot for slot in rejected_slots(turn) if turn.slots[slot].is_name}
    if not pattern("discards").search(turn.user.text):
        return dropped
    # `Forget the taxi, we'll walk`.
    row, phrases = turn.user.words.words, tuple(table()["rejecting"]["services"])
    services = {
        cue.name
        for cue in turn.user.services
        if row[cue.first - 1 : cue.first] == ["the"] and " ".join(row[: cue.first - 1]).endswith(phrases)
    }
    # `Never mind leaving at 10, I have to be there by 8` leaves only the time of arrival.
    ends = {slot: each for slot, each in turn.slots.items() if each.kind == "time"}
    roles = {ends[slot].service: ends[slot].role for slot in filled if slot in ends}
    for slot in turn.state:
        role = roles.get(service_of(slot), "")
        is_other_end = slot in ends and ends[slot].role and role not in ("", ends[slot].role)
        if service_of(slot) in services or is_other_end:
            dropped.add(slot)
    return dropped
