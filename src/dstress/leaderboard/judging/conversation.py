"""Talking to a submitted system: what a judge says goes to its address, and what it answers comes back.

The server makes the request, so an address could make it knock at doors that are open to it alone. Therefore only
public addresses are asked, unless the server's owner names the host; the address that was checked is the one that is
connected to, and no redirect and no proxy is followed. A request may take so long, an answer be so large, and an error
tells a judge its kind alone.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any

import httpcore
import httpx
import msgspec

from dstress.corpora.database import Database
from dstress.dialogue import Dialogue, Schema, State, Turn, service_of
from dstress.errors import DstressError
from dstress.llm.deadline import limit
from dstress.llm.post import REFUSED, UNREACHABLE, Unanswered, checked_url, exchange, read_pieces
from dstress.predictions.base import Prediction
from dstress.storage.secrets import redact_text
from dstress.studies.human_check.questions import goal_in_words
from dstress.trackers.base import Context, Failed
from dstress.trackers.wire import MALFORMED, Unreadable, context_data, read_answer, schema_data

TIMEOUT = 20.0
"""Seconds for a whole request: somebody waits."""
_LARGEST = 1 << 18
"""Bytes of an answer."""
LONGEST_REPLY = 2000
"""Letters of a reply that a judge sees."""
_PRIVATE = "private address"
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")


def checked_address(url: str) -> str:
    """The address of a system, if it is one that may be asked; empty takes it away."""
    if not url:
        return ""
    if "$" in url:  # `checked_url` is for one's own addresses, and fills in one's own secrets
        raise DstressError("an address has no $", fix="write the address as it is")
    return checked_url("the system", url)


def ask_system(
    url: str,
    schema: Schema,
    dialogue: str,
    exchanges: Sequence[tuple[str, str]],
    user: str,
    allowed: Iterable[str] = (),
) -> str:
    """What a system replies to the user, after what was said so far (user, system); Unanswered where it does not.

    The request is that of the tracker `http`, and the reply is the `response` of its answer.
    """
    answered = ["", *(system for _, system in exchanges)]
    utterances = [*(before for before, _ in exchanges), user]
    turns = tuple(Turn(text, system) for text, system in zip(utterances, answered, strict=True))
    context = Context(Dialogue(dialogue, turns), len(exchanges), schema)
    body = msgspec.json.encode({"schema": schema_data(schema), "contexts": [context_data(context)]})
    headers = {"Content-Type": "application/json"}

    client = httpx.Client(timeout=TIMEOUT, trust_env=False)
    client._transport._pool._network_backend = _Outside(frozenset(allowed))  # type: ignore[attr-defined]
    limit(client)
    with client, exchange(client, TIMEOUT, "POST", url, content=body, headers=headers) as answer:
        if not answer.is_success:
            raise Unanswered(REFUSED, str(answer.status_code), answer.status_code)
        content = b"".join(read_pieces(answer, _LARGEST))

    try:
        (data,) = msgspec.json.decode(content)["answers"]
        read = read_answer({"state": {}} | data, context)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError, ValueError, Unreadable):
        raise Unanswered(MALFORMED) from None
    if isinstance(read, Failed) or not isinstance(read, Prediction) or not (read.response or "").strip():
        raise Unanswered(MALFORMED, "no response")
    shown = "".join(letter for letter in redact_text(read.response or "") if letter.isprintable() or letter == "\n")
    return shown.strip()[:LONGEST_REPLY]


class _Outside(httpcore.SyncBackend):
    """Connects to public addresses only, and to hosts that are allowed by name."""

    def __init__(self, allowed: frozenset[str]) -> None:
        self.allowed = allowed

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            addresses = [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(str(error)) from None
        if host.casefold() not in self.allowed and not all(map(is_public, addresses)):
            raise Unanswered(UNREACHABLE, _PRIVATE)
        # The address that was looked at, and not what the name means a moment later.
        return super().connect_tcp(addresses[0], port, timeout, local_address, socket_options)


def is_public(address: str) -> bool:
    """Whether an address is one of the open internet, also where it is an IPv4 address in an IPv6 one."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped:
            return is_public(str(parsed.ipv4_mapped))
        if parsed.sixtofour or parsed.teredo or parsed in _TRANSLATED:
            return False
    return parsed.is_global and not parsed.is_multicast


def draw_goals(dialogues: Iterable[Dialogue], database: Database | None, goals: int, seed: int) -> list[str]:
    """Goals in words, of the shape of the dialogues' own, with values drawn anew.

    Neither judges nor the systems that they talk to learn what a dialogue of the test data says: of each service a row
    of the database gives the values that it has, and other dialogues give the rest.
    """
    originals = [_wanted(dialogue) for dialogue in dialogues]
    values: dict[str, dict[str, None]] = {}
    for state, _ in originals:
        for slot, forms in state.items():
            values.setdefault(slot, {})[forms[0]] = None
    random = Random(seed)
    shapes = [(state, requests) for state, requests in originals if state]
    drawn = random.sample(shapes, min(goals, len(shapes)))
    return [_in_words(_drawn_anew(state, values, database, random), requests) for state, requests in drawn]


def _wanted(dialogue: Dialogue) -> tuple[State, tuple[str, ...]]:
    """What is asked for in the end, and the facts that are asked: the goal where it is known, else what was said."""
    if dialogue.goal and dialogue.goal.inform:
        return dialogue.goal.inform, dialogue.goal.request
    frames = (frame for turn in dialogue.turns for frame in turn.frames)
    requested = dict.fromkeys(f"{frame.service}-{slot}" for frame in frames for slot in frame.requested)
    return (dialogue.turns[-1].state if dialogue.turns else {}), tuple(requested)


def _drawn_anew(
    state: State, values: Mapping[str, Mapping[str, None]], database: Database | None, random: Random
) -> State:
    fresh: dict[str, tuple[str, ...]] = {}
    rows = {}
    for service in dict.fromkeys(map(service_of, state)):
        if database and database.tables.get(service):
            rows[service] = random.choice(database.tables[service])
    for slot in state:
        service, _, name = slot.partition("-")
        value = rows.get(service, {}).get(name.casefold().replace(" ", ""))
        taken = {forms[0] for other, forms in fresh.items() if service_of(other) == service}  # no trip goes nowhere
        options = [value for value in values[slot] if value not in taken] or list(values[slot])
        fresh[slot] = (value.partition("|")[0] if value else random.choice(options),)
    return fresh


def _in_words(state: State, requests: Sequence[str]) -> str:
    facts = "; ".join(f"find out: {slot.replace('-', ' ').replace('_', ' ')}" for slot in requests)
    return "; ".join(filter(None, (goal_in_words(state), facts)))
