"""What browser tests share: an app that listens, and what axe-core has against a page."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def listening(app: Any) -> Iterator[str]:
    """An app on a free port of this machine; gives its address."""
    import uvicorn

    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [place]}, daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            thread.join(0.02)
        try:
            yield f"http://127.0.0.1:{place.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)


def axe_complaints(tab: Any) -> list[str]:
    """What axe-core finds wrong with the page in a tab, a line each."""
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import Error

    for attempt in range(5):
        tab.wait_for_load_state()
        try:
            found = Axe().run(tab).response["violations"]
            break
        except Error:  # a form that was just sent may replace the page under axe, which then has no document
            if attempt == 4:
                raise
            tab.wait_for_timeout(500)
    return [f"{one['id']}: {node['html'][:120]}" for one in found for node in one["nodes"]]
