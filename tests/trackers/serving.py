"""Real servers on this machine: one that answers contexts, one that speaks like OpenAI's; both may misbehave."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks import reminder
from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.resources import Resources
from dstress.trackers.base import Context

SCHEMA = Schema(
    (
        Service(
            "hotel",
            "A place to sleep",
            (
                Slot("area", "Part of town", True, ("north", "south")),
                Slot("parking", "Whether one can park", True, ("yes", "no")),
                Slot("name", "Name of the hotel", False, ("Acorn", "Lodge", "Swan", "Star", "Moon", "Sun")),
            ),
        ),
        Service("taxi", "A ride", (Slot("to", "Where to"), Slot("sharing", "", True, ("yes", "no")))),
    )
)
STATE = {"hotel-area": "north"}


def dialogue(count: int = 4, name: str = "d1") -> Dialogue:
    """Turns that say their number, so that answers can be told apart."""
    gold = {"hotel-area": ("north",)}
    turns = [Turn(f"turn {n} in the north", f"reply {n}" if n else "", gold) for n in range(count)]
    return Dialogue(name, tuple(turns), ("hotel",))


def contexts(count: int = 4, schema: Schema = SCHEMA) -> list[Context]:
    told = dialogue(count)
    return [Context(told, turn, schema) for turn in range(count)]


class Held:
    """A part of `reminder`: enough to draw from, and quick to make."""

    def __init__(self, name: str) -> None:
        split = name.partition(":")[2]
        self.schema = reminder.schema(split)
        self.dialogues = [reminder.generate_dialogue(split, index) for index in range(60)]

    def __iter__(self) -> Iterator[Dialogue]:
        return iter(self.dialogues)


held = cache(Held)


def resources(folder: Path, schema: Schema = SCHEMA) -> Resources:
    return Resources(schema, [dialogue()], held, folder)


class Served:
    """A server at work. `plays` are tricks for the next requests; after them it behaves."""

    def __init__(self, answer: Callable[[dict[str, Any]], Any]) -> None:
        self.answer = answer
        self.plays: list[Callable[[BaseHTTPRequestHandler], None] | None] = []
        self.always: Callable[[BaseHTTPRequestHandler], None] | None = None
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.at_once = self.most_at_once = 0
        self.connections: list[socket.socket] = []
        self.lock = threading.Lock()
        self.url = ""

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"]))
        with self.lock:
            self.asked.append(json.loads(body))
            self.headers.append(dict(request.headers))
            play = self.plays.pop(0) if self.plays else self.always
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if play is not None:
                play(request)
            else:
                send(request, 200, self.answer(json.loads(body)))
        except (BrokenPipeError, ConnectionResetError):
            pass  # the client has lost patience, as it should
        finally:
            with self.lock:
                self.at_once -= 1


@contextmanager
def serving(answer: Callable[[dict[str, Any]], Any], path: str = "") -> Iterator[Served]:
    served = Served(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            served.connections.append(self.connection)

        def do_POST(self) -> None:
            served.handle(self)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_address[1]}{path}"
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        for connection in served.connections:  # whoever kept one open has lost it
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        thread.join()


# Tricks


def send(request: BaseHTTPRequestHandler, status: int, data: Any, **headers: str) -> None:
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name.replace("_", "-"), value)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


def status(code: int, data: Any = None, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    """Answers with an HTTP status."""
    told = {"error": {"message": f"trick {code}"}} if data is None else data
    return lambda request: send(request, code, told, **headers)


def garbage(request: BaseHTTPRequestHandler) -> None:
    """Answers with a web page."""
    send(request, 200, b"<html>down for maintenance</html>")


def hang_up(request: BaseHTTPRequestHandler) -> None:
    """Closes the connection without a word."""
    request.close_connection = True
    request.connection.close()


def half(request: BaseHTTPRequestHandler) -> None:
    """Promises more than it sends."""
    request.send_response(200)
    request.send_header("Content-Length", "1000")
    request.end_headers()
    request.wfile.write(b'{"answers": [')
    request.close_connection = True


def slow(seconds: float) -> Callable[[BaseHTTPRequestHandler], None]:
    """Answers too late."""

    def play(request: BaseHTTPRequestHandler) -> None:
        time.sleep(seconds)
        send(request, 200, {})

    return play


def drip(request: BaseHTTPRequestHandler) -> None:
    """Answers in drops, none of which is late by itself."""
    request.send_response(200)
    request.send_header("Content-Length", "1000")
    request.end_headers()
    for _ in range(40):
        request.wfile.write(b" ")
        request.wfile.flush()
        time.sleep(0.05)


# Trackers


def north(asked: dict[str, Any]) -> dict[str, Any]:
    """A server that finds one value, and says which turn it saw."""
    return {"answers": [{"state": {"hotel-area": "north", "taxi-to": one["user"]}} for one in asked["contexts"]]}


def completion(text: str | None, **more: Any) -> dict[str, Any]:
    """A chat completion that says `text`, as OpenAI sends it."""
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    message = {"role": "assistant", "content": text} | more.pop("message", {})
    choice = {"index": 0, "message": message, "finish_reason": more.pop("finish", "stop")}
    return {"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage} | more


def model(asked: dict[str, Any]) -> dict[str, Any]:
    """A model that obeys: hotel-area is north, taxi-to is the last line that it was shown, all else null."""
    last = asked["messages"][-1]["content"].splitlines()[-1]
    values = {"hotel-area": "north", "taxi-to": last}
    text = json.dumps({slot: values.get(slot) for slot in asked_slots(asked)})
    if "tools" not in asked:
        return completion(text)
    name = asked["tools"][0]["function"]["name"]
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": text}}
    return completion(None, message={"tool_calls": [call]}, finish="tool_calls")


def asked_slots(asked: dict[str, Any]) -> list[str]:
    """The slots that a request binds its answer to."""
    if "tools" in asked:
        shape = asked["tools"][0]["function"]["parameters"]
    else:
        shape = asked["response_format"]["json_schema"]["schema"]
    return list(shape["properties"])
