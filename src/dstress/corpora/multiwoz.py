"""MultiWOZ's raw layout: 2.0, 2.1, 2.3 (with coreference) and 2.4, `data.json` with list files or a file a split.

SpokenWOZ has it too: `text_5700_train_dev` with a list of the validation dialogues, `text_5700_test`, and one service
more, `profile`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec

from dstress.corpora import multiwoz_schema
from dstress.corpora.base import Corpus, Importer, LocatedDialogue, Split
from dstress.corpora.json_files import decode, decode_part, write_object
from dstress.corpora.split_names import canonical_split, find_split, sort_splits, split_of_file, split_of_folder
from dstress.dialogue import Act, Coreference, Dialogue, Frame, Goal, Schema, Span, State, Turn, service_of, slot_id
from dstress.errors import CorpusError, place
from dstress.storage.atomic import replacing
from dstress.storage.sources import Source, SourceFile
from dstress.text.slot_names import SlotNames

_RAW = re.compile(rb'^\s*\{\s*"[^"]+"\s*:\s*\{\s*"(?:goal|new_goal|log)"\s*:')
_WORD = re.compile(r"\S+")
_SIDE_ACT = re.compile(rb'"(Bus|Hospital|Police)-[A-Za-z]+"\s*:')
_DEPARTMENT = re.compile(rb'"department"\s*:\s*"(?!not mentioned"|none"|")')
_ALTERNATIVES = re.compile(r"[|>]")


_Pair = Annotated[list[Any], msgspec.Meta(min_length=2)]
_Reference = Annotated[list[Any], msgspec.Meta(min_length=3)]


class _Utterance(msgspec.Struct, gc=False):
    text: str
    metadata: dict[str, dict[str, dict[str, Any]]] = {}
    dialog_act: dict[str, list[_Pair]] | str = {}
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


class Multiwoz(Importer):
    """MultiWOZ as its authors publish it: goal, log, metadata, dialogue acts and spans by dialogue."""

    name: ClassVar[str] = "multiwoz"

    @classmethod
    def matches(cls, source: Source) -> bool:
        return bool(_recordings(source))

    def splits(self, source: Source) -> Iterator[Split]:
        files = _recordings(source)
        if all(map(_is_spoken, files)):
            parts = {split.name: split for file in files for split in _spoken_splits(file, source)}
            yield from (parts[name] for name in sort_splits(parts))
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
        listed = {"dev": "valListFile.txt", "test": "testListFile.txt"}
        names: list[str] = []

        def recordings() -> Iterator[tuple[str, Any]]:
            for dialogue in corpus:
                names.append(f"{dialogue.id}.json")
                yield names[-1], _written(dialogue)

        write_object(folder / "data.json", recordings())
        for split, file in listed.items():
            with replacing(folder / file) as out:
                out.write("".join(f"{name}\n" for name in names if split == canonical_split(corpus.split)).encode())


def _recordings(source: Source) -> list[SourceFile]:
    return [file for file in source.ending(".json") if _RAW.match(file.head())]


def _is_spoken(file: SourceFile) -> bool:
    """Whether utterances come with the times of their words."""
    return b'"BeginTime"' in file.head()


def _spoken_splits(file: SourceFile, source: Source) -> Iterator[Split]:
    """A file beside a list of validation dialogues holds them and train; the other one is test."""
    held_out = _read_lists(source, file.folder).get("dev")
    if held_out is None:
        yield _split(split_of_folder(file.folder, source), file, lambda _: True)
    else:
        yield _split("train", file, lambda name: name not in held_out)
        yield _split("dev", file, held_out.__contains__)


def _listed_splits(file: SourceFile, source: Source) -> Iterator[Split]:
    """One data.json: the list files name validation and test dialogues, the rest is train."""
    lists = _read_lists(source)
    if set(lists) != {"dev", "test"}:
        raise CorpusError(
            "one file holds all dialogues, but the lists of validation and test dialogues are missing",
            where=source.address,
            fix="put valListFile and testListFile (.txt or .json) beside data.json",
        )
    held_out = lists["dev"] | lists["test"]
    train = frozenset(_base(name) for name in decode(_FILE, file)) - held_out
    for name, members in {"train": train, **lists}.items():
        if members:  # what is written of a single split has empty lists
            yield _split(name, file, members.__contains__)


def _read_lists(source: Source, folder: str | None = None) -> dict[str, frozenset[str]]:
    """The dialogues of dev and test by the list files of the source, or of one folder in it."""
    lists: dict[str, frozenset[str]] = {}
    for file in source.files:
        if folder is not None and file.folder != folder:
            continue
        stem = file.stem.casefold()
        if stem.endswith((".txt", ".json")) and "listfile" in stem:
            name = "dev" if stem.startswith("val") else "test"
            # Both endings have been published with the same content: one name a line.
            lists[name] = frozenset(_base(line) for line in file.read().decode("utf-8", "replace").split())
    return dict(sorted(lists.items()))


def _base(name: str) -> str:
    return name.removesuffix(".json")


def _split(name: str, file: SourceFile, wanted: Callable[[str], bool]) -> Split:
    def stream() -> Iterator[LocatedDialogue]:
        for key, raw in decode(_FILE, file).items():
            if wanted(_base(key)):
                yield file.label, _dialogue(_base(key), raw, file.label)

    return Split(name, multiwoz_schema.select_services(_side_services(file, wanted)), stream)


def _side_services(file: SourceFile, wanted: Callable[[str], bool]) -> set[str]:
    """Which of bus, hospital, police and profile the dialogues are about: their schema is needed before they stream."""
    services = {"profile"} if _is_spoken(file) else set()
    for key, raw in decode(_FILE, file).items():
        # A glance at the bytes: decoding every dialogue twice would double the time.
        if wanted(_base(key)):
            services |= {match.decode().casefold() for match in _SIDE_ACT.findall(raw)}
            services |= {"hospital"} if _DEPARTMENT.search(raw) else set()
    return services


def _dialogue(name: str, raw: msgspec.Raw, label: str) -> Dialogue:
    recording = decode_part(_RECORDING, raw, place(label, name))
    turns = tuple(
        _turn(recording.log, position, place(label, name, position // 2))
        for position in range(0, len(recording.log), 2)
    )
    services = [service_of(slot) for turn in turns for slot in turn.state]
    services += [frame.service for turn in turns for frame in turn.frames]
    closing = recording.log[-1] if recording.log else _Utterance("")
    return Dialogue(
        name,
        turns,
        tuple(dict.fromkeys(services)),
        _goal(recording.goal),
        closing.text.strip(),
        _frames(closing, {}),
    )


def _turn(log: list[_Utterance], position: int, where: str) -> Turn:
    user = log[position]
    system = log[position - 1] if position else None
    if position + 1 >= len(log):
        raise CorpusError(
            "the log ends with the user, so this turn has no state", where=where, fix="the file is cut short"
        )
    state = _state(log[position + 1].metadata, where)
    return Turn(
        user.text.strip(),
        system.text.strip() if system else "",
        state,
        _frames(user, state),
        _frames(system, {}) if system else (),
        _coreferences(user, state),
        booked=_booked(log[position + 1].metadata),
    )


def _state(metadata: dict[str, dict[str, dict[str, Any]]], where: str) -> State:
    state: State = {}
    for service, parts in metadata.items():
        for part in ("semi", "book"):
            for slot, value in parts.get(part, {}).items():
                if value and slot not in ("booked", "ticket") and (forms := _forms(value, where)):
                    state[_slot_id(service, part, slot)] = forms
    return state


def _booked(metadata: dict[str, dict[str, dict[str, Any]]]) -> tuple[str, ...]:
    return tuple(
        service
        for service, parts in metadata.items()
        if any("reference" in booking for booking in parts.get("book", {}).get("booked", ()))
    )


@cache
def _slot_id(service: str, part: str, slot: str) -> str:
    return _slot_names()(service, f"book {slot}" if part == "book" else slot)


@cache
def _slot_names() -> SlotNames:
    return SlotNames(multiwoz_schema.select_services({"bus", "hospital", "police", "profile"}))


def _forms(value: object, where: str) -> tuple[str, ...]:
    """The accepted forms; 2.3 writes some alternatives as a list."""
    if isinstance(value, str):
        return _split_forms(value)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise CorpusError(f"the value {value!r} is not text", where=where)
    return tuple(dict.fromkeys(form for item in value for form in _split_forms(item)))


@lru_cache(maxsize=100_000)
def _split_forms(value: str) -> tuple[str, ...]:
    """`a|b` and `a>b` (2.1) mean that either is right."""
    stripped = (form.strip() for form in _ALTERNATIVES.split(value))
    return tuple(
        dict.fromkeys(multiwoz_schema.settle(form) for form in stripped if not multiwoz_schema.is_absent(form))
    )


def _frames(utterance: _Utterance, state: State) -> tuple[Frame, ...]:
    """A frame for each service that the utterance's acts are about or the state holds."""
    acts: dict[str, list[Act]] = {service_of(slot): [] for slot in state}
    requested: dict[str, list[str]] = {}
    # Where annotators gave none, MultiWOZ 2.0 and 2.1 say "No Annotation" instead.
    annotated = utterance.dialog_act if isinstance(utterance.dialog_act, dict) else {}
    for title, pairs in annotated.items():
        service, _, act = title.casefold().partition("-")
        for short, value, *_ in pairs:
            slot = multiwoz_schema.act_slot(service, str(short))
            values = (str(value),) if str(value) not in ("none", "?", "") else ()
            acts.setdefault(service, []).append(Act(act.upper(), slot, values))
            if act == "request":
                requested.setdefault(service, []).append(slot)
    spans = _spans(utterance)
    return tuple(
        Frame(service, "", tuple(requested.get(service, ())), tuple(spans.get(service, ())), tuple(own))
        for service, own in acts.items()
        if service != "general"
    )


def _spans(utterance: _Utterance) -> dict[str, list[Span]]:
    """Spans are annotated in words; the text is split at blanks to find their characters."""
    spans: dict[str, list[Span]] = {}
    if not utterance.span_info:
        return spans
    text = utterance.text.strip()
    words = [match.span() for match in _WORD.finditer(text)]
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
                booked = (known for known in state if known.endswith(f"-book {slot.partition('-')[2]}"))
                slot = next((known for known in booked if str(value) in state[known]), slot)
            turn = rest[0] // 2 if rest and isinstance(rest[0], int) else -1
            coreferences.append(Coreference(slot, str(expression), str(value), turn))
    return tuple(coreferences)


def _goal(goal: dict[str, _ServiceGoal | list[str] | str | bool | None]) -> Goal:
    """Beside the services, a goal has a `message` (its description, in sentences) and flags of the collection."""
    inform: State = {}
    fallback: State = {}
    request: list[str] = []
    for service, wanted in goal.items():
        if isinstance(wanted, _ServiceGoal):
            inform |= _constraints(service, "semi", wanted.info) | _constraints(service, "book", wanted.book)
            fallback |= _constraints(service, "semi", wanted.fail_info)
            fallback |= _constraints(service, "book", wanted.fail_book)
            request += [slot_id(service, slot) for slot in wanted.reqt]
    message = goal.get("message", "")
    return Goal(" ".join(message) if isinstance(message, list) else str(message), inform, fallback, tuple(request))


def _constraints(service: str, part: str, wanted: dict[str, Any]) -> State:
    return {_slot_id(service, part, slot): (value,) for slot, value in wanted.items() if isinstance(value, str)}


_ACT_NAMES = {"NOBOOK": "NoBook", "NOOFFER": "NoOffer", "OFFERBOOK": "OfferBook", "OFFERBOOKED": "OfferBooked"}
_CAMEL = {"leaveat": "leaveAt", "arriveby": "arriveBy"}


def _written(dialogue: Dialogue) -> dict[str, Any]:
    """The recording of a dialogue. MultiWOZ's logs end with the system, whose last words not every corpus has."""
    log: list[dict[str, Any]] = []
    for turn in dialogue.turns:
        if log:
            log[-1] |= {"text": turn.system, **_written_acts(turn.system, turn.system_frames)}
        user = {"text": turn.user, "metadata": {}, **_written_acts(turn.user, turn.frames)}
        if turn.coreferences:
            user["coreference"] = _written_coreferences(turn.coreferences)
        log += [user, {"text": "", "metadata": _metadata(turn.state, turn.booked), **_written_acts("", ())}]
    log[-1] |= {"text": dialogue.closing, **_written_acts(dialogue.closing, dialogue.closing_frames)}
    return {"goal": _written_goal(dialogue.goal), "log": log}


def _metadata(state: State, booked: tuple[str, ...]) -> dict[str, dict[str, dict[str, Any]]]:
    """Every slot of every service; one without a value is empty."""
    metadata: dict[str, dict[str, dict[str, Any]]] = {}
    for service in _whole_schema().services:
        references = [{"reference": ""}] if service.name in booked else []  # which one, nobody here has
        parts: dict[str, dict[str, Any]] = {"book": {"booked": references}, "semi": {}}
        for slot in service.slots:
            part, bare = _parted(slot.name)
            parts[part][bare] = "|".join(state.get(slot_id(service.name, slot.name), ()))
        metadata[service.name] = parts
    return metadata


def _parted(slot: str) -> tuple[str, str]:
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
        for act in frame.acts:
            title = f"{frame.service.capitalize()}-{_ACT_NAMES.get(act.act, act.act.capitalize())}"
            unsaid = "?" if act.act == "REQUEST" else "none"
            acts.setdefault(title, []).append([multiwoz_schema.short_name(act.slot), *(act.values or (unsaid,))])
        for span in frame.spans:
            if span.start in starts and span.end in ends:
                value, short = text[span.start : span.end], multiwoz_schema.short_name(span.slot)
                title = f"{frame.service.capitalize()}-Inform"
                spans.append([title, short, value, starts[span.start], ends[span.end]])
    return {"dialog_act": acts, "span_info": spans}


def _written_coreferences(coreferences: tuple[Coreference, ...]) -> dict[str, list[list[Any]]]:
    written: dict[str, list[list[Any]]] = {}
    for one in coreferences:
        service, _, slot = one.slot.partition("-")
        entry: list[Any] = [multiwoz_schema.short_name(slot), one.expression, one.value]
        written.setdefault(f"{service.capitalize()}-Inform", []).append(
            [*entry, *([2 * one.turn] if one.turn >= 0 else [])]
        )
    return written


def _written_goal(goal: Goal | None) -> dict[str, Any]:
    written: dict[str, Any] = {"message": [goal.description] if goal and goal.description else []}
    for kind, wanted in (("", goal.inform), ("fail_", goal.fallback)) if goal else ():
        for slot, forms in wanted.items():
            service, _, name = slot.partition("-")
            part, bare = _parted(name)
            into = written.setdefault(service, {}).setdefault(kind + ("book" if part == "book" else "info"), {})
            into[bare] = forms[0]
    for slot in goal.request if goal else ():
        service, _, name = slot.partition("-")
        written.setdefault(service, {}).setdefault("reqt", []).append(name)
    return written


@cache
def _whole_schema() -> Schema:
    return multiwoz_schema.select_services({"bus", "hospital", "police"})
