"""A browser or a program, as far as tests need one."""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from dstress.leaderboard.tables import User


class Client(TestClient):
    """A client that knows who is signed in, and fills in the token of a form."""

    def __init__(
        self, app: FastAPI, user: User | None = None, secret: str = "", token: str = "", address: str = "testclient"
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        given: Any = {"follow_redirects": False, "raise_server_exceptions": False, "client": (address, 50_000)}
        super().__init__(app, headers=headers, **given)
        self.user = user
        if secret:
            self.cookies.set("dstress", secret)

    def csrf(self) -> str:
        """The token that a page of ours has for this client."""
        page = self.get("/account", follow_redirects=True)
        found = re.search(r'name="csrf" value="(\w+)"', page.text)
        assert found, page.text
        return found[1]

    def submit(self, path: str, files: Any = None, **fields: Any) -> Any:
        """Send a form as a browser does."""
        return self.post(path, data={"csrf": self.csrf()} | fields, files=files)
