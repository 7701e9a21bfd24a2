"""MultiWOZ's raw layout: 2.0, 2.1, 2.3 (with coreference) and 2.4, `data.json` with list files or a file a split.

SpokenWOZ has it too: `text_5700_train_dev` with a list of the validation dialogues, `text_5700_test`, and one service
more, `profile`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any

import msgspec

from dstress.corpora import multiwoz_schema
from dstress.corpora.base import Corpus, LocatedDialogue, Split
from dstress.corpora.json_files import decode, decode_part, write_object
from dstress.corpora.json_importer import JsonImporter, frames_of
from dstress.corpora.split_names import canonical_split, find_split, sort_splits, split_of_file, split_of_folder
from dstress.dialogue import Act, Coreference, Dialogue, Frame, Goal, Span, State, Turn, service_of, slot_id
from dstress.errors import CorpusError, place
from dstress.storage.atomic import replacing
from dstress.storage.sources import Source, SourceFile
from dstress.text.slot_names import SlotNames

_WORD = re.compile(r"\S+")
_SIDE_ACT = re.compile(rb'"(Bus|Hospital|Police)-[A-Za-z]+"\s*:')
_DEPARTMENT = re.compile(rb'"department"\s*:\s*"(?!not mentioned"|none"|")')
_ALTERNATIVES = re.compile(r"[|>]")
_SIDE_SERVICES = frozenset({"bus", "hospital", "police"})

_Reference = Annotated[list[Any], msgspec.Meta(min_length=3)]
_Metadata = dict[str, dict[str, dict[str, Any]]]
"""Service -> `semi` or `book` -> slot -> value."""


class _Utterance(msgspec.Struct, gc=False):
    text: str
    metadata: _Metadata = {}
    dialog_act: dict[str, list[multiwoz_schema.RawAct]] | str = {}
    span_info: list[list[Any]] = []
    coreference: dict[str, list[_Reference]] = {}


class _ServiceGoal(msgspec.Struct, gc=False):
    info: dict[str, Any] = {}
    book: dict[str, Any] = {}
    fail_info: dict[str, Any] = {}
    fail_book: dict[str, Any] = {}
    reqt: list[str] = []


class _Recording(msgspec.Struct, gc=False):
    log: list[_Utterance]
    goal: dict[str, _ServiceGoal | list[str] | str | bool | None] = {}


_FILE = msgspec.json.Decoder(dict[str, msgspec.Raw])
_RECORDING = msgspec.json.Decoder(_Recording)


class Multiwoz(JsonImporter):
    """MultiWOZ as its authors publish it: goal, log, metadata, dialogue acts and spans by dialogue."""

    name = "multiwoz"
    marks = (rb'^\s*\{\s*"[^"]+"\s*:\s*\{\s*"(?:goal|new_goal|log)"\s*:',)

    def splits(self, source: Source) -> Iterator[Split]:
        files = self.files(source)
        if all(map(_is_spoken, files)):
            spoken = {split.name: split for file in files for split in _spoken_splits(file, source)}
            yield from (spoken[name] for name in sort_splits(spoken))
            return
        whole = [file for file in files if find_split(file.stem) is None]
        if len(whole) > 1:
            labels = " and ".join(file.name for file in whole)
            raise CorpusError(f"several copies of the corpus: {labels}", where=source.address, fix="give one of them")
        if len(files) == 1 and whole:
            yield from _listed_splits(whole[0], source)
            return
        by_name = {split_of_file(file, ".json"): file for file in files}
        for name in sort_splits(by_name):
            yield _split(name, by_name[name], lambda _: True)

    def write(self, corpus: Corpus, folder: Path) -> None:
        multiwoz_schema.require_multiwoz(corpus.schema, self.name)
        names: list[str] = []

        def recordings() -> Iterator[tuple[str, Any]]:
            for dialogue in corpus:
                names.append(f"{dialogue.id}.json")
                yield names[-1], _written(dialogue)

        write_object(folder / "data.json", recordings())
        for split, file in {"dev": "valListFile.txt", "test": "testListFile.txt"}.items():
            with replacing(folder / file) as out:
                out.write("".join(f"{name}\n" for name in names if split == canonical_split(corpus.split)).encode())


def _is_spoken(file: SourceFile) -> bool:
    """Whether utterances come with the times of their words."""
    return b'"BeginTime"' in file.head()


def _spoken_splits(file: SourceFile, source: Source) -> Iterator[Split]:
    """A file beside a list of validation dialogues holds them and train; the other one is test."""
    held_out = _read_lists([listed for listed in source.files if listed.folder == file.folder]).get("dev")
    if held_out is None:
        yield _split(split_of_folder(file.folder, source), file, lambda _: True)
    else:
        yield _split("train", file, lambda name: name not in held_out)
        yield _split("dev", file, held_out.__contains__)


def _listed_splits(file: SourceFile, source: Source) -> Iterator[Split]:
    """One data.json: the list files name validation and test dialogues, the rest is train."""
    lists = _read_lists(source.files)
    if set(lists) != {"dev", "test"}:
        raise CorpusError(
            "one file holds all dialogues, but the lists of validation and test dialogues are missing",
            where=source.address,
            fix="put valListFile and testListFile (.txt or .json) beside data.json",
        )
    train = frozenset(name.removesuffix(".json") for name in decode(_FILE, file)) - lists["dev"] - lists["test"]
    for name, members in {"train": train, **lists}.items():
        if members:  # what is written of a single split has empty lists
            yield _split(name, file, members.__contains__)


def _read_lists(files: list[SourceFile]) -> dict[str, frozenset[str]]:
    """The dialogues of dev and test, by list files."""
    lists: dict[str, frozenset[str]] = {}
    for file in files:
        stem = file.stem.casefold()
        if stem.endswith((".txt", ".json")) and "listfile" in stem:
            # Both endings have been published with the same content: one name a line.
            names = file.read().decode("utf-8", "replace").split()
            lists["dev" if stem.startswith("val") else "test"] = frozenset(n.removesuffix(".json") for n in names)
    return dict(sorted(lists.items()))


def _split(name: str, file: SourceFile, is_member: Callable[[str], bool]) -> Split:
    def members() -> Iterator[tuple[str, msgspec.Raw]]:
        for key, raw in decode(_FILE, file).items():
            if is_member(dialogue_id := key.removesuffix(".json")):
                yield dialogue_id, raw

    def read() -> Iterator[LocatedDialogue]:
        for dialogue_id, raw in members():
            yield file.label, _dialogue(dialogue_id, raw, file.label)

    # Which of the side services the dialogues are about is needed before they stream, for the schema. A glance at the
    # bytes tells: decoding every dialogue twice would double the time.
    services = {"profile"} if _is_spoken(file) else set()
    for _, raw in members():
        services |= {match.decode().casefold() for match in _SIDE_ACT.findall(raw)}
        services |= {"hospital"} if _DEPARTMENT.search(raw) else set()
    return Split(name, multiwoz_schema.select_services(services), read)


def _dialogue(name: str, raw: msgspec.Raw, label: str) -> Dialogue:
    recording = decode_part(_RECORDING, raw, place(label, name))
    turns = tuple(
        _turn(recording.log, position, place(label, name, position // 2))
        for position in range(0, len(recording.log), 2)
    )
    services = [service_of(slot) for turn in turns for slot in turn.state]
    services += [frame.service for turn in turns for frame in turn.frames]
    closing = recording.log[-1] if recording.log else _Utterance("")
    goal = _goal(recording.goal)
    return Dialogue(name, turns, tuple(dict.fromkeys(services)), goal, closing.text.strip(), _frames(closing, {}))


def _turn(log: list[_Utterance], position: int, where: str) -> Turn:
    user, system = log[position], log[position - 1] if position else None
    if position + 1 >= len(log):
        raise CorpusError(
            "the log ends with the user, so this turn has no state", where=where, fix="the file is cut short"
        )
    # The state after a turn, and what is booked then, is written beside the system's answer.
    metadata = log[position + 1].metadata
    state = _state(metadata, where)
    try:
        booked = [
            service
            for service, parts in metadata.items()
            if any("reference" in booking for booking in parts.get("book", {}).get("booked", ()))
        ]
    except TypeError:
        raise CorpusError("what is booked is no list of bookings", where=where) from None
    return Turn(
        user.text.strip(),
        system.text.strip() if system else "",
        state,
        _frames(user, state),
        _frames(system, {}) if system else (),
        _coreferences(user, state),
        booked=tuple(booked),
    )


def _state(metadata: _Metadata, where: str) -> State:
    state: State = {}
    for service, parts in metadata.items():
        for part in ("semi", "book"):
            for slot, value in parts.get(part, {}).items():
                if value and slot not in ("booked", "ticket"):
                    # `a|b` and `a>b` (2.1) mean that either is right; 2.3 writes some alternatives as a list.
                    values = value if isinstance(value, list) else [value]
                    if not all(isinstance(item, str) for item in values):
                        raise CorpusError(f"the value {value!r} is not text", where=where)
                    if forms := tuple(dict.fromkeys(form for item in values for form in _split_forms(item))):
                        state[_slot_id(service, part, slot)] = forms
    return state


@cache
def _slot_id(service: str, part: str, slot: str) -> str:
    return _slot_names()(service, f"book {slot}" if part == "book" else slot)


@cache
def _slot_names() -> SlotNames:
    return SlotNames(multiwoz_schema.select_services(_SIDE_SERVICES | {"profile"}))


@lru_cache(maxsize=100_000)
def _split_forms(value: str) -> tuple[str, ...]:
    stripped = (form.strip() for form in _ALTERNATIVES.split(value))
    return tuple(
        dict.fromkeys(multiwoz_schema.settle(form) for form in stripped if not multiwoz_schema.is_absent(form))
    )


def _frames(utterance: _Utterance, state: State) -> tuple[Frame, ...]:
    """A frame for each service that the utterance's acts are about or the state holds."""
    acts: dict[str, list[Act]] = {service_of(slot): [] for slot in state}
    # Where annotators gave none, MultiWOZ 2.0 and 2.1 say "No Annotation" instead.
    annotated = utterance.dialog_act if isinstance(utterance.dialog_act, dict) else {}
    for title, pairs in annotated.items():
        service, _, act = title.casefold().partition("-")
        for short, value, *_ in pairs:
            slot = multiwoz_schema.act_slot(service, str(short))
            values = (str(value),) if str(value) not in ("none", "?", "") else ()
            acts.setdefault(service, []).append(Act(act.upper(), slot, values))
    acts.pop("general", None)
    return frames_of(acts, _spans(utterance) if utterance.span_info else {})


def _spans(utterance: _Utterance) -> dict[str, list[Span]]:
    """Spans are annotated in words; the text is split at blanks to find their characters."""
    spans: dict[str, list[Span]] = {}
    words = [match.span() for match in _WORD.finditer(utterance.text.strip())]
    for title, short, _, first, last in (entry[:5] for entry in utterance.span_info if len(entry) >= 5):
        service = str(title).casefold().partition("-")[0]
        if isinstance(first, int) and isinstance(last, int) and 0 <= first <= last < len(words):
            slot = multiwoz_schema.act_slot(service, str(short))
            spans.setdefault(service, []).append(Span(slot, words[first][0], words[last][1]))
    return spans


def _coreferences(utterance: _Utterance, state: State) -> tuple[Coreference, ...]:
    """MultiWOZ 2.3: [slot, expression, value, utterance it refers to, words]; utterances count both sides.

    Acts of `booking` do not say what is booked: the slot is the one of the state that holds the value.
    """
    coreferences = []
    for title, entries in utterance.coreference.items():
        service = title.casefold().partition("-")[0]
        for short, expression, value, *rest in entries:
            slot = slot_id(service, multiwoz_schema.act_slot(service, str(short)))
            if service == "booking":
                ending = f"-book {slot.partition('-')[2]}"
                slot = next((s for s, forms in state.items() if s.endswith(ending) and str(value) in forms), slot)
            turn = rest[0] // 2 if rest and isinstance(rest[0], int) else -1
            coreferences.append(Coreference(slot, str(expression), str(value), turn))
    return tuple(coreferences)


def _goal(goal: dict[str, _ServiceGoal | list[str] | str | bool | None]) -> Goal:
    """Beside the services, a goal has a `message` (its description, in sentences) and flags of the collection."""
    inform: State = {}
    fallback: State = {}
    request: list[str] = []
    for service, service_goal in goal.items():
        if isinstance(service_goal, _ServiceGoal):
            for state, part, values in (
                (inform, "semi", service_goal.info),
                (inform, "book", service_goal.book),
                (fallback, "semi", service_goal.fail_info),
                (fallback, "book", service_goal.fail_book),
            ):
                state |= {_slot_id(service, part, slot): (v,) for slot, v in values.items() if isinstance(v, str)}
            request += [slot_id(service, slot) for slot in service_goal.reqt]
    message = goal.get("message", "")
    return Goal(" ".join(message) if isinstance(message, list) else str(message), inform, fallback, tuple(request))


_ACT_NAMES = {"NOBOOK": "NoBook", "NOOFFER": "NoOffer", "OFFERBOOK": "OfferBook", "OFFERBOOKED": "OfferBooked"}
_CAMEL = {"leaveat": "leaveAt", "arriveby": "arriveBy"}


def _written(dialogue: Dialogue) -> dict[str, Any]:
    """The recording of a dialogue. MultiWOZ's logs end with the system, whose last words not every corpus has."""
    log: list[dict[str, Any]] = []
    for turn in dialogue.turns:
        if log:
            log[-1] |= {"text": turn.system, **_written_acts(turn.system, turn.system_frames)}
        user: dict[str, Any] = {"text": turn.user, "metadata": {}, **_written_acts(turn.user, turn.frames)}
        for reference in turn.coreferences:
            name, _, bare = reference.slot.partition("-")
            utterance = [2 * reference.turn] if reference.turn >= 0 else []
            entry = [multiwoz_schema.short_name(bare), reference.expression, reference.value, *utterance]
            user.setdefault("coreference", {}).setdefault(f"{name.capitalize()}-Inform", []).append(entry)
        metadata: _Metadata = {}  # every slot of every service; one without a value is empty
        for service in multiwoz_schema.select_services(_SIDE_SERVICES).services:
            references = [{"reference": ""}] if service.name in turn.booked else []  # which one, nobody here has
            metadata[service.name] = {"book": {"booked": references}, "semi": {}}
            for slot in service.slots:
                part, bare = _part_of(slot.name)
                metadata[service.name][part][bare] = "|".join(turn.state.get(slot_id(service.name, slot.name), ()))
        log += [user, {"text": "", "metadata": metadata, **_written_acts("", ())}]
    log[-1] |= {"text": dialogue.closing, **_written_acts(dialogue.closing, dialogue.closing_frames)}
    return {"goal": _written_goal(dialogue.goal or Goal()), "log": log}


def _part_of(slot: str) -> tuple[str, str]:
    """`book day` -> the part `book` and the slot `day`; what is looked for is in `semi`."""
    bare = slot.removeprefix("book ")
    return ("semi" if bare == slot else "book"), _CAMEL.get(bare, bare)


def _written_acts(text: str, frames: tuple[Frame, ...]) -> dict[str, Any]:
    """Acts by their titles, and the spans whose ends are those of words."""
    acts: dict[str, list[list[str]]] = {}
    spans: list[list[Any]] = []
    words = [match.span() for match in _WORD.finditer(text)]
    starts, ends = ({place[side]: number for number, place in enumerate(words)} for side in (0, 1))
    for frame in frames:
        service = frame.service.capitalize()
        for act in frame.acts:
            title = f"{service}-{_ACT_NAMES.get(act.act, act.act.capitalize())}"
            unsaid = "?" if act.act == "REQUEST" else "none"
            acts.setdefault(title, []).append([multiwoz_schema.short_name(act.slot), *(act.values or (unsaid,))])
        for span in frame.spans:
            if span.start in starts and span.end in ends:
                value, short = text[span.start : span.end], multiwoz_schema.short_name(span.slot)
                spans.append([f"{service}-Inform", short, value, starts[span.start], ends[span.end]])
    return {"dialog_act": acts, "span_info": spans}


def _written_goal(goal: Goal) -> dict[str, Any]:
    written: dict[str, Any] = {"message": [goal.description] if goal.description else []}
    for prefix, state in (("", goal.inform), ("fail_", goal.fallback)):
        for slot, forms in state.items():
            service, _, name = slot.partition("-")
            part, bare = _part_of(name)
            section = f"{prefix}{'book' if part == 'book' else 'info'}"
            written.setdefault(service, {}).setdefault(section, {})[bare] = forms[0]
    for slot in goal.request:
        service, _, name = slot.partition("-")
        written.setdefault(service, {}).setdefault("reqt", []).append(name)
    return written
