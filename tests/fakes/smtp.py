"""A mail server on this machine that keeps what it is sent."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_string, policy
from email.message import EmailMessage


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self._say("220 fake")
        for raw in self.rfile:
            word = raw.split()[0].upper() if raw.split() else b""
            if word == b"DATA":
                self._say("354 go on")
                self._keep()
            elif word == b"QUIT":
                self._say("221 bye")
                return
            self._say("250 fine")

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())

    def _keep(self) -> None:
        lines = []
        while (line := self.rfile.readline().decode().rstrip("\r\n")) != ".":
            lines.append(line.removeprefix("."))
        mail = message_from_string("\n".join(lines), policy=policy.default)
        assert isinstance(self.server, FakeSmtp)
        assert isinstance(mail, EmailMessage)
        self.server.mails.append(mail)


class FakeSmtp(socketserver.ThreadingTCPServer):
    """The server; `mails` has what came."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.mails: list[EmailMessage] = []

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.server_address[1]}"


@contextmanager
def running_smtp() -> Iterator[FakeSmtp]:
    with FakeSmtp() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
