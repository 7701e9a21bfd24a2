"""`dstress benchmark`: make a benchmark and hand it to a server; what a server has."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from dstress.cli.output import COUNTS, SEEDS, console, json_option, make_table, write_json
from dstress.cli.progress import counting, waiting
from dstress.spec import parse_list

token_option = click.option(
    "--token", envvar="DSTRESS_TOKEN", default="", help="your token; better in DSTRESS_TOKEN, where nobody sees it"
)
_LAYOUT = click.Choice(["dstress", "sgd", "unified", "trade", "multiwoz"])


@click.group("benchmark")
def command() -> None:
    """Benchmarks of a server: create, list, download, leaderboard, delete.

    \b
    Examples
      dstress benchmark create raddle --corpus multiwoz21:test --title "Winter" --to https://board.example.org
      dstress benchmark list https://board.example.org
      dstress benchmark download https://board.example.org/benchmarks/winter --layout trade
      dstress benchmark leaderboard https://board.example.org/benchmarks/winter
      dstress benchmark delete https://board.example.org/benchmarks/winter
    """


@command.command("create")
@click.argument("suite")
@click.option("--corpus", required=True, metavar="CORPUS:SPLIT", help="what it is made of; its gold goes to the server")
@click.option("--title", required=True, help="what people call it")
@click.option("--to", "server", required=True, metavar="URL", help="the server; you need to be an organiser there")
@click.option("--about", default="", help="a few words for its page")
@click.option("--seed", type=SEEDS, default=1, show_default=True, help="of the stressors; keep it to yourself")
@click.option("--limit", type=COUNTS, default=0, help="only the first dialogues")
@click.option("--draw", type=COUNTS, default=0, help="only so many dialogues, at random")
@click.option("--metrics", default="", help="such as jga,slot-f1; default: the suite's")
@click.option("--conventions", default="", help="such as exact,trade; the first one counts; default: the suite's")
@click.option("--services/--no-services", default=None, help="tell what each dialogue is about; default: as SGD does")
@click.option("--daily-limit", type=click.IntRange(1, 1000), default=5, show_default=True, help="per team")
@click.option("--deadline", default="", metavar="TIME", help="such as 2027-05-31T23:59, in UTC; default: none")
@click.option("--view", default="", help="the leaderboard to show first: suite, or a metric")
@token_option
@json_option
def create(
    suite: str,
    corpus: str,
    title: str,
    server: str,
    about: str,
    seed: int,
    limit: int,
    draw: int,
    metrics: str,
    conventions: str,
    services: bool | None,
    daily_limit: int,
    deadline: str,
    view: str,
    token: str,
    json_file: str | None,
) -> None:
    """Make a benchmark from SUITE and a corpus on this machine, and hand it to a server.

    The server shows the dialogues without labels, under other ids; the labels never leave it.

    \b
    Examples
      dstress benchmark create quick --corpus reminder:test --title "Try it" --to http://127.0.0.1:8000
      dstress benchmark create raddle --corpus multiwoz21:test --title "Winter" --to https://board.example.org
        --conventions trade,exact --daily-limit 2 --deadline 2027-05-31
    """
    from dstress.leaderboard.benchmarks.archive import pack_package
    from dstress.leaderboard.benchmarks.package import Plan, create_package
    from dstress.leaderboard.client import Platform

    platform = Platform(server, token)
    platform.ask("GET", "/account")  # a token that does not work is told before the work begins
    chosen = tuple(parse_list(metrics) if metrics else ()), tuple(parse_list(conventions) if conventions else ())
    plan = Plan(suite, corpus, title, seed, limit, draw, *chosen, services)
    with tempfile.TemporaryDirectory(prefix="dstress-") as folder:
        with counting() as show:
            package = create_package(Path(folder) / "package", plan, show)
        archive = Path(folder) / "package.zip"
        with archive.open("wb") as out:
            pack_package(package, out)
        terms = {"title": title, "about": about, "daily_limit": daily_limit, "deadline": deadline, "view": view}
        with waiting("handing it in"), archive.open("rb") as stream:
            made = platform.ask("POST", "/benchmarks", data=terms, files={"package": ("package.zip", stream)})
    if json_file:
        write_json(made, json_file)
    else:
        console().print(
            f"{made['turns']:,} turns in {made['dialogues']:,} dialogues, in the layouts {', '.join(made['layouts'])}\n"
            f"{server.rstrip('/')}/benchmarks/{made['slug']}",
            markup=False,
        )


@command.command("list")
@click.argument("server")
@json_option
def list_command(server: str, json_file: str | None) -> None:
    """The benchmarks of a server.

    \b
    Example
      dstress benchmark list http://127.0.0.1:8000
    """
    from dstress.leaderboard.client import Platform

    found = Platform(server).ask("GET", "/benchmarks")
    if json_file:
        write_json(found, json_file)
        return
    table = make_table("benchmark", "title", "corpus", "#turns", "state")
    for one in found:
        state = ("open" if one["is_open"] else "closed") if one["state"] == "done" else one["state"]
        table.add_row(one["slug"], escape(one["title"]), escape(one["corpus"]), f"{one['turns']:,}", state)
    console().print(table)


@command.command("download")
@click.argument("address")
@click.option("--layout", type=_LAYOUT, default="dstress", show_default=True, help="what your tracker reads")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="default: NAME-LAYOUT.zip here")
def download(address: str, layout: str, out: Path | None) -> None:
    """The public inputs of a benchmark, as a zip.

    \b
    Example
      dstress benchmark download http://127.0.0.1:8000/benchmarks/reminder-quick-look --layout sgd
    """
    from dstress.leaderboard.client import Platform, parse_address

    server, slug = parse_address(address)
    platform, path = Platform(server), out or Path(f"{slug}-{layout}.zip")
    licence = platform.ask("GET", f"/benchmarks/{slug}")["licence"]
    with waiting("downloading"):
        platform.download(f"/benchmarks/{slug}/inputs/{layout}", path)
    console().print(f"{path}; licence of the data: {licence or 'not known'}", markup=False)


@command.command("leaderboard")
@click.argument("address")
@click.option("--view", default="", help="suite, or a metric")
@click.option("--convention", default="", help="what counts as correct")
@click.option("--by", default="", help="the column to order by")
@json_option
def leaderboard(address: str, view: str, convention: str, by: str, json_file: str | None) -> None:
    """The leaderboard of a benchmark; ~ marks what does not differ significantly from the one above.

    \b
    Example
      dstress benchmark leaderboard http://127.0.0.1:8000/benchmarks/reminder-quick-look --view jga
    """
    from dstress.leaderboard.client import Platform, parse_address

    server, slug = parse_address(address)
    chosen = {"view": view, "convention": convention, "by": by}
    board = Platform(server).ask("GET", f"/benchmarks/{slug}/leaderboard", params=chosen)
    if json_file:
        write_json(board, json_file)
        return
    table = make_table("##", "system", "team", *(f"#{name}" for name in board.get("columns", [])))
    for one in board.get("systems", []):
        mark = "~" if one["differs_from_above"] is False else ""
        shown = (_shown(one["scores"][name]) for name in board["columns"])
        table.add_row(f"{one['rank']}{mark}", escape(one["system"]), escape(one["team"]), *shown)
    console().print(table)


@command.command("delete")
@click.argument("address")
@click.option("--yes", is_flag=True, help="do not ask")
@token_option
def delete(address: str, yes: bool, token: str) -> None:
    """Delete a benchmark of yours on which nothing is published, with its labels, inputs and submissions.

    \b
    Example
      dstress benchmark delete https://board.example.org/benchmarks/winter
    """
    from dstress.leaderboard.client import Platform, parse_address

    server, slug = parse_address(address)
    platform = Platform(server, token)
    title = platform.ask("GET", f"/benchmarks/{slug}")["title"]
    if not yes:
        click.confirm(f"Delete {title!r} ({slug}) with all that was handed in, for good?", abort=True)
    platform.ask("DELETE", f"/benchmarks/{slug}")
    console().print(f"{title} is deleted", markup=False)


def _shown(score: dict[str, Any] | None) -> str:
    """A value as people read it: its signature says what it is."""
    from dstress.metrics.measures import measure_of
    from dstress.reports.numbers import PLAIN

    if score is None:
        return PLAIN.unknown
    return PLAIN.measured(score["value"], measure_of(score["signature"].partition("|")[0]).unit)
