"""`dstress view`."""

from __future__ import annotations

import socket
import webbrowser
from contextlib import suppress
from pathlib import Path

import click

from dstress.cli.names import CORPUS
from dstress.cli.options import PATH, argument, option, verb
from dstress.cli.output import OutputFiles, console, json_option
from dstress.errors import DstressError, MissingExtraError
from dstress.leaderboard.viewer.shelf import Shelf


@verb("view")
def command(
    folder: Path = argument(metavar="[RUNS]", type=PATH, default=Path("runs")),
    port: int = option(type=click.IntRange(0, 65535), default=8050, help="port; 0 chooses a free one"),
    opened: bool = option("--open/--no-open", default=False, help="open the page in your browser"),
    playground: bool = option("--playground", is_flag=True, help="try stressors on a turn that you type or choose"),
    corpus: str = option(
        type=CORPUS, metavar="CORPUS:SPLIT", default="reminder:test", help="corpus of the playground's first turn"
    ),
    files: OutputFiles = json_option,
) -> None:
    """Browse the runs of a folder: main scores, every report, and runs side by side.

    With --playground, try stressors instead: type an utterance and its label, or choose a turn of a corpus, and see
    how every stressor changes it under several seeds. No runs are needed.

    The page is served only on this machine (127.0.0.1) and needs no account. No files are written: missing reports
    are generated in memory. Reload the page to see new runs. Ctrl-C stops the server.

    \b
    Examples
      dstress view runs
      dstress view runs --port 0 --open
      dstress view runs --json                  (only the list)
      dstress view --playground --open
    """
    shelf = None if playground else Shelf(folder)
    if shelf and files.json:
        files.write(shelf.list())
        return
    try:
        import uvicorn

        from dstress.leaderboard.playground.local import create_playground, open_desk
        from dstress.leaderboard.viewer.app import LOOPBACK, create_viewer
    except ImportError:
        raise MissingExtraError("the viewer is not installed", fix="pip install 'dstress[server]'") from None
    if playground and files.json:
        raise DstressError("--playground has no list to write", fix="leave --json out")
    app = create_viewer(folder) if shelf else create_playground(open_desk(corpus))
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
    except OSError as error:
        raise DstressError(f"port {port} is not free ({error.strerror})", fix="give another --port, or 0") from None
    address = f"http://{LOOPBACK}:{listening.getsockname()[1]}/"
    what = f"{len(shelf.paths()):,} runs of {folder}" if shelf else "Playground"
    console().print(f"{what} at {address} (Ctrl-C ends it)", markup=False)
    if opened:
        webbrowser.open(address)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    with suppress(KeyboardInterrupt):  # the way to end it
        server.run(sockets=[listening])
