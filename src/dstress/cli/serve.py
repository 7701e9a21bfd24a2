"""`dstress serve`, and beside it what keeps a server well: admin, jobs, backup, restore, migrate."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dstress.cli.admin import group as admin_group
from dstress.cli.names import ENGINE
from dstress.cli.options import FILE, FOLDER, argument, option, takes_options, verb
from dstress.cli.output import OutputFiles, json_option
from dstress.cli.progress import counting
from dstress.errors import DstressError, MissingExtraError
from dstress.reports.tables import Table

if TYPE_CHECKING:
    from dstress.leaderboard.backup import Contents


@click.group("serve", invoke_without_command=True)
@takes_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    host: str = option(default="127.0.0.1", help="address to listen at"),
    port: int = option(type=click.IntRange(0, 65535), default=8000, help="port to listen at"),
    processes: int = option(type=click.IntRange(1, 64), default=1, help="processes that answer"),
    folder: Path | None = option(type=FOLDER, help="where everything is kept"),
    database: str | None = option(metavar="URL", help="postgresql://user@host/name; default: SQLite in the folder"),
    files: str | None = option(metavar="URL", help="s3://bucket/prefix; default: in the folder"),
    url: str | None = option(help="how people reach the server; default: http://HOST:PORT"),
    sign_up: str | None = option(
        type=click.Choice(["open", "invitation"]), help="who may make an account; default: open"
    ),
    proxies: str | None = option(metavar="ADDRESSES", help="reverse proxies to believe; default: 127.0.0.1"),
    workers: int = option(
        type=click.IntRange(0, 64),
        default=1,
        help="processes that score; 0 where `dstress serve worker` runs elsewhere",
    ),
    example: bool = option(
        "--example/--no-example", default=True, help="an example benchmark on a server that has none"
    ),
) -> None:
    """Serve the platform: benchmarks, submissions, leaderboards, judging and collection.

    Every option can be given as DSTRESS_<NAME> in the environment, and so can DSTRESS_SMTP, DSTRESS_SENDER,
    DSTRESS_S3_ENDPOINT, DSTRESS_MAX_UPLOAD, DSTRESS_PRIVATE_HOSTS and DSTRESS_SESSION_DAYS. A subcommand works on the
    same server: give it the same --folder or --database.

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
    from dstress.storage.atomic import replacing

    # Gold, answers and addresses are for this account of the machine alone; workers take the mask over.
    ctx.call_on_close(partial(os.umask, os.umask(0o077)))
    ctx.obj = read_settings(folder=folder, database=database, files=files, url=url, sign_up=sign_up, proxies=proxies)
    served = ctx.obj.folder / "url"
    if not url and not os.environ.get("DSTRESS_URL"):
        listens = served.read_text() if ctx.invoked_subcommand and served.is_file() else f"http://{host}:{port}"
        ctx.obj = replace(ctx.obj, url=listens)
    if ctx.invoked_subcommand is None:
        with replacing(served) as out:
            out.write(ctx.obj.url.encode())
        with _working(ctx.obj, workers, example):
            _serve(ctx.obj, host, port, processes)


command.add_command(admin_group)


def _working(settings: Any, number: int, example: bool) -> AbstractContextManager[None]:
    """The workers beside a server; like its own processes they read their settings in the environment."""
    from dstress.leaderboard.workers import running_workers

    os.environ.update(settings.environment())
    options = ["--parent", str(os.getpid()), *(["--example"] if example else [])]
    return running_workers([sys.executable, "-m", "dstress", "serve", "worker", *options], number)


@verb("worker", command)
@click.pass_obj
def worker(
    settings: Any,
    engine: str = option(type=ENGINE, default="local", help="where scoring is done: local, or ray(address=...)"),
    at_once: int = option(type=click.IntRange(1, 256), default=1, help="submissions at a time"),
    example: bool = option(
        "--example/--no-example", default=False, help="an example benchmark on a server that has none"
    ),
    parent: int = option(type=int, default=0, hidden=True),
) -> None:
    """Score submissions and make benchmarks, on any machine that reaches the database and the files.

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


@command.group("jobs")
def jobs() -> None:
    """What workers do: scoring submissions, making benchmarks."""


@verb("retry", jobs)
@click.pass_obj
def retry(settings: Any) -> None:
    """Do every job that failed again, for example once the file store is back.

    \b
    Example
      dstress serve jobs retry
    """
    from dstress.leaderboard.jobs import JobStore

    store = JobStore(settings)
    store.database.migrate()
    click.echo(f"{store.retry()} failed jobs wait for a worker again", err=True)
    store.database.close()


def _serve(settings: Any, host: str, port: int, processes: int) -> None:
    """Listen until a signal comes; what is being answered then is answered first."""
    import uvicorn

    if processes > 1:  # they count into files of one folder; each by itself would tell a part of what is asked
        counts = settings.folder / "metrics"
        shutil.rmtree(counts, ignore_errors=True)
        counts.mkdir(parents=True)
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(counts)
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


@verb("migrate", command)
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


@verb("backup", command)
@click.pass_obj
def backup(settings: Any, file: Path = argument(type=FILE), files: OutputFiles = json_option) -> None:
    """Write everything that a server keeps into FILE, a zip; the server may go on.

    \b
    Examples
      dstress serve backup board.zip
      dstress serve --database postgresql://dstress@db/dstress backup board.zip
    """
    from dstress.leaderboard.backup import back_up

    _show(_with_server(settings, back_up, file), files)


@verb("restore", command)
@click.pass_obj
def restore_command(
    settings: Any,
    file: Path = argument(type=click.Path(exists=True, dir_okay=False, path_type=Path)),
    files: OutputFiles = json_option,
) -> None:
    """Fill an empty server from a backup, whatever database the backup was made of.

    \b
    Example
      dstress serve --database postgresql://dstress@db/dstress restore board.zip
    """
    from dstress.leaderboard.backup import restore

    _show(_with_server(settings, restore, file), files)


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


def _show(contents: Contents, files: OutputFiles) -> None:
    rows = [(name, f"{count:,}") for name, count in contents.rows.items()]
    caption = f"{contents.files:,} files; revision {contents.revision}, made {contents.made_at}"
    files.show(contents._asdict(), [Table(("table", "#rows"), rows, caption)])
