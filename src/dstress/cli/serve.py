"""`dstress serve`, and beside it what keeps a server well: admin, backup, restore, migrate."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dstress.cli.admin import group as admin_group
from dstress.cli.output import console, json_option, make_table, write_json
from dstress.cli.progress import counting
from dstress.errors import DstressError, MissingExtraError

if TYPE_CHECKING:
    from dstress.leaderboard.backup import Contents


@click.group("serve", invoke_without_command=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="address to listen at")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="port to listen at")
@click.option("--processes", type=click.IntRange(1, 64), default=1, show_default=True, help="processes that answer")
@click.option("--folder", type=click.Path(file_okay=False, path_type=Path), help="where everything is kept")
@click.option("--database", metavar="URL", help="postgresql://user@host/name; default: SQLite in the folder")
@click.option("--files", metavar="URL", help="s3://bucket/prefix; default: in the folder")
@click.option("--url", help="how people reach the server; default: http://HOST:PORT")
@click.option("--sign-up", type=click.Choice(["open", "invitation"]), help="who may make an account; default: open")
@click.option("--proxies", metavar="ADDRESSES", help="reverse proxies to believe; default: 127.0.0.1")
@click.option(
    "--workers",
    type=click.IntRange(0, 64),
    default=1,
    show_default=True,
    help="processes that score; 0 where `dstress serve worker` runs elsewhere",
)
@click.option("--example/--no-example", default=True, help="an example benchmark on a server that has none")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    host: str,
    port: int,
    processes: int,
    folder: Path | None,
    database: str | None,
    files: str | None,
    url: str | None,
    sign_up: str | None,
    proxies: str | None,
    workers: int,
    example: bool,
) -> None:
    """Serve the platform: benchmarks, submissions, leaderboards, judging and collection.

    Every option can be given as DSTRESS_<NAME> in the environment, and so can DSTRESS_SMTP, DSTRESS_SENDER,
    DSTRESS_S3_ENDPOINT, DSTRESS_MAX_UPLOAD and DSTRESS_SESSION_DAYS. A subcommand works on the same server:
    give it the same --folder or --database.

    \b
    Examples
      dstress serve
      dstress serve admin add ada@example.org --role admin
      dstress serve --database postgresql://dstress@db/dstress --url https://board.example.org --sign-up invitation
      dstress serve backup board.zip
    """
    if any(find_spec(name) is None for name in ("fastapi", "uvicorn", "sqlalchemy", "alembic", "argon2")):
        raise MissingExtraError("a server needs the extra `server`", fix="pip install 'dstress[server]'")
    from dstress.leaderboard.settings import read_settings

    if not url and "DSTRESS_URL" not in os.environ:
        url = f"http://{host}:{port}"
    ctx.obj = read_settings(folder=folder, database=database, files=files, url=url, sign_up=sign_up, proxies=proxies)
    if ctx.invoked_subcommand is None:
        with _working(ctx.obj, workers, example):
            _serve(ctx.obj, host, port, processes)


command.add_command(admin_group)


def _working(settings: Any, number: int, example: bool) -> AbstractContextManager[None]:
    """The workers beside a server; like its own processes they read their settings in the environment."""
    from dstress.leaderboard.workers import running_workers

    os.environ.update(settings.environment())
    options = ["--parent", str(os.getpid()), *(["--example"] if example else [])]
    return running_workers([sys.executable, "-m", "dstress", "serve", "worker", *options], number)


@command.command("worker")
@click.option("--engine", default="local", show_default=True, help="where scoring is done: local, or ray(address=...)")
@click.option("--at-once", type=click.IntRange(1, 256), default=1, show_default=True, help="submissions at a time")
@click.option("--example/--no-example", default=False, help="an example benchmark on a server that has none")
@click.option("--parent", type=int, default=0, hidden=True)
@click.pass_obj
def worker(settings: Any, engine: str, at_once: int, example: bool, parent: int) -> None:
    """Score what is handed in and make benchmarks, on any machine that reaches the database and the files.

    With an engine the worker only shares out the scoring, several submissions at once; the machines that do it reach
    the files, and never the database.

    \b
    Examples
      dstress serve --database postgresql://dstress@db/dstress --files s3://board worker
      dstress serve --files s3://board worker --engine "ray(address=head:6379)" --at-once 16
    """
    from dstress.engines import engines
    from dstress.leaderboard.example import add_example
    from dstress.leaderboard.jobs import run_worker
    from dstress.leaderboard.monitoring import log_requests

    log_requests()
    run_worker(settings, parent, add_example if example else lambda store: None, engines.create(engine), at_once)


def _serve(settings: Any, host: str, port: int, processes: int) -> None:
    """Listen until a signal comes; what is being answered then is answered first."""
    import uvicorn

    click.echo(f"dstress serves at {settings.url}; everything is kept in {settings.folder}", err=True)
    with suppress(KeyboardInterrupt):  # the signal, once more after the last answer
        uvicorn.run(
            "dstress.leaderboard.app:create_from_environment",
            factory=True,
            host=host,
            port=port,
            workers=processes,
            log_config=None,
            access_log=False,
            server_header=False,
            forwarded_allow_ips=settings.proxies,
            timeout_graceful_shutdown=30,
            timeout_keep_alive=15,
        )


@command.command("migrate")
@click.pass_obj
def migrate(settings: Any) -> None:
    """Bring the database to this version's tables; `serve` does so at its start.

    \b
    Example
      dstress serve --database postgresql://dstress@db/dstress migrate
    """
    from dstress.leaderboard.database import Database

    database = Database(settings.database_url)
    database.migrate()
    database.close()
    click.echo("the database is up to date", err=True)


@command.command("backup")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@json_option
@click.pass_obj
def backup(settings: Any, file: Path, json_file: str | None) -> None:
    """Write everything that a server keeps into FILE, a zip; the server may go on.

    \b
    Examples
      dstress serve backup board.zip
      dstress serve --database postgresql://dstress@db/dstress backup board.zip
    """
    from dstress.leaderboard.backup import back_up

    _show(_with_server(settings, back_up, file), json_file)


@command.command("restore")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
@click.pass_obj
def restore_command(settings: Any, file: Path, json_file: str | None) -> None:
    """Fill an empty server from a backup, whatever database the backup was made of.

    \b
    Example
      dstress serve --database postgresql://dstress@db/dstress restore board.zip
    """
    from dstress.leaderboard.backup import restore

    _show(_with_server(settings, restore, file), json_file)


def _with_server(settings: Any, work: Any, file: Path) -> Contents:
    from sqlalchemy.exc import OperationalError

    from dstress.leaderboard.database import Database
    from dstress.leaderboard.files import open_files

    database = Database(settings.database_url)
    try:
        with counting() as show:
            contents: Contents = work(database, open_files(settings), file, show)
    except OperationalError as error:
        raise DstressError(f"the database does not answer: {error.orig}", where="--database") from None
    finally:
        database.close()
    return contents


def _show(contents: Contents, json_file: str | None) -> None:
    if json_file:
        write_json(contents._asdict(), json_file)
        return
    table = make_table("table", "#rows")
    for name, count in contents.rows.items():
        table.add_row(name, f"{count:,}")
    console().print(table)
    console().print(f"{contents.files:,} files; revision {contents.revision}, made {contents.made_at}")
