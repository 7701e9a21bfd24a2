"""`dstress view`."""

from __future__ import annotations

import socket
import webbrowser
from contextlib import suppress
from pathlib import Path

import click

from dstress.cli.output import console, json_option, write_json
from dstress.errors import DstressError, MissingExtraError
from dstress.leaderboard.viewer.shelf import Shelf


@click.command("view")
@click.argument("folder", metavar="RUNS", type=click.Path(path_type=Path), default=Path("runs"))
@click.option("--port", type=click.IntRange(0, 65535), default=8050, show_default=True, help="0 takes a free one")
@click.option("--open/--no-open", "opened", default=False, help="open it in your browser")
@json_option
def command(folder: Path, port: int, opened: bool, json_file: str | None) -> None:
    """Look at the runs of a folder: headline numbers, every report, any runs side by side.

    A local page for this machine alone (127.0.0.1), without accounts. It reads and never writes: reports that are not
    there yet are made in memory. New runs show when the page is loaded again. Ctrl-C ends it.

    \b
    Examples
      dstress view runs
      dstress view runs --port 0 --open
      dstress view runs --json                  (the list alone)
    """
    shelf = Shelf(folder)
    if json_file:
        write_json(shelf.list(), json_file)
        return
    try:
        import uvicorn

        from dstress.leaderboard.viewer.app import LOOPBACK, create_viewer
    except ImportError:
        raise MissingExtraError("the viewer is not installed", fix="pip install 'dstress[server]'") from None
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
    except OSError as error:
        raise DstressError(f"port {port} is not free ({error.strerror})", fix="give another --port, or 0") from None
    address = f"http://{LOOPBACK}:{listening.getsockname()[1]}/"
    console().print(f"{len(shelf.names()):,} runs of {folder} at {address} (Ctrl-C ends it)", markup=False)
    if opened:
        webbrowser.open(address)
    server = uvicorn.Server(uvicorn.Config(create_viewer(folder), log_level="warning", access_log=False))
    with suppress(KeyboardInterrupt):  # the way to end it
        server.run(sockets=[listening])
