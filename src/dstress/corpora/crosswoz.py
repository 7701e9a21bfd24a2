"""CrossWOZ as its authors publish it: `train.json`, `val.json`, `test.json`, each a dict of dialogues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from dstress.corpora.json_files import decode
from dstress.corpora.json_importer import JsonImporter, frames_of
from dstress.dialogue import Act, Dialogue, Frame, Goal, State, Turn, service_of, slot_id
from dstress.errors import CorpusError, place
from dstress.storage.sources import SourceFile

_RESULTS = "selectedResults"
"""What the system found, which stands among the slots of its state."""


class _Message(msgspec.Struct, gc=False):
    role: str
    content: str
    dialog_act: list[tuple[str, str, str, str]] = []
    sys_state_init: dict[str, dict[str, Any]] | None = None


class _RawDialogue(msgspec.Struct, gc=False, rename={"task": "task description"}):
    messages: list[_Message]
    task: list[str] = []


_FILE = msgspec.json.Decoder(dict[str, _RawDialogue])


class Crosswoz(JsonImporter):
    """CrossWOZ: five services of Beijing, in Chinese; the state is the system's first query of a turn."""

    name = "crosswoz"
    marks = (b'"sys-usr"', b'"messages"')

    def language(self, file: SourceFile) -> str:
        return ""  # it has been translated

    def dialogues(self, file: SourceFile) -> Iterator[Dialogue]:
        for name, raw in decode(_FILE, file).items():
            turns = tuple(
                _turn(raw.messages, position, place(file.label, name, position // 2))
                for position, message in enumerate(raw.messages)
                if message.role == "usr"
            )
            services = dict.fromkeys(service_of(slot) for turn in turns for slot in turn.state)
            yield Dialogue(name, turns, tuple(services), Goal("\n".join(raw.task)) if raw.task else None)


def _turn(messages: list[_Message], position: int, where: str) -> Turn:
    user, system = messages[position], messages[position - 1] if position else None
    answer = messages[position + 1] if position + 1 < len(messages) else None
    if answer is None or answer.sys_state_init is None:
        raise CorpusError("no system message with its sys_state_init follows, so this turn has no state", where=where)
    state: State = {
        slot_id(service, slot): (str(value).strip(),)
        for service, slots in answer.sys_state_init.items()
        for slot, value in slots.items()
        if slot != _RESULTS and str(value).strip()
    }
    system_text = system.content.strip() if system else ""
    return Turn(user.content.strip(), system_text, state, _frames(user), _frames(system) if system else ())


def _frames(message: _Message) -> tuple[Frame, ...]:
    acts: dict[str, list[Act]] = {}
    for intent, service, slot, value in message.dialog_act:
        if intent != "General":
            act = Act(intent.upper(), "" if slot == "none" else slot, (value,) if value not in ("", "none") else ())
            acts.setdefault(service, []).append(act)
    return frames_of(acts)
