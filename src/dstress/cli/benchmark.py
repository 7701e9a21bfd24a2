"""`dstress benchmark`: make a benchmark and submit it to a server; what a server has."""

from __future__ import annotations

import tempfile
from pathlib import Path
from textwrap import fill
from typing import Any

import click

from dstress.cli.names import CONVENTION, CORPUS, METRIC, SUITE
from dstress.cli.options import (
    FILE,
    argument,
    draw_option,
    limit_option,
    option,
    seed_option,
    token_option,
    verb,
)
from dstress.cli.output import OutputFiles, console, json_option, print_all
from dstress.cli.progress import counting, waiting
from dstress.reports.tables import Table
from dstress.spec import parse_list

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


@verb("create", command)
def create(
    suite: str = argument(type=SUITE),
    corpus: str = option(
        type=CORPUS, required=True, metavar="CORPUS:SPLIT", help="what it is made of; its gold goes to the server"
    ),
    title: str = option(required=True, help="what people call it"),
    server: str = option("--to", required=True, metavar="URL", help="the server; you need to be an organiser there"),
    about: str = option(default="", help="a few words for its page"),
    seed: int = seed_option(of="of the stressors; keep it to yourself"),
    limit: int = limit_option,
    draw: int = draw_option,
    metrics: str = option(type=METRIC, default="", help="such as jga,slot-f1; default: the suite's"),
    conventions: str = option(default="", help="such as exact,trade; the first one counts; default: the suite's"),
    services: bool | None = option(
        "--services/--no-services", default=None, help="tell what each dialogue is about; default: as SGD does"
    ),
    daily_limit: int = option(type=click.IntRange(1, 1000), default=5, help="per team"),
    deadline: str = option(
        default="", metavar="TIME", help="2027-05-31 (its end) or 2027-05-31T18:00, in UTC; default: none"
    ),
    view: str = option(default="", help="the leaderboard to show first: suite, or a metric"),
    token: str = token_option,
    files: OutputFiles = json_option,
) -> None:
    """Make a benchmark from SUITE and a corpus on this machine, and submit it to a server.

    The server shows the dialogues without labels, under other ids; the labels never leave it.

    \b
    Examples
      dstress benchmark create quick --corpus reminder:test --title "Try it" --to http://127.0.0.1:8000
      dstress benchmark create raddle --corpus multiwoz21:test --title "Winter" --to https://board.example.org
        --conventions trade,exact --daily-limit 2 --deadline 2027-05-31
    """
    from dstress.leaderboard.benchmarks.floors import add_floors
    from dstress.leaderboard.benchmarks.package import Plan, create_package, pack_package
    from dstress.leaderboard.client import Facts, Platform

    platform = Platform(server, token)
    platform.ask("GET", "/account")  # a token that does not work is told before the work begins
    chosen = tuple(parse_list(metrics) if metrics else ()), tuple(parse_list(conventions) if conventions else ())
    plan = Plan(suite, corpus, title, seed, limit, draw, *chosen, services)
    with tempfile.TemporaryDirectory(prefix="dstress-") as folder:
        with counting() as show:
            package = create_package(Path(folder) / "package", plan, show)
            add_floors(package, show)
        archive = Path(folder) / "package.zip"
        with archive.open("wb") as out:
            pack_package(package, out)
        terms = {"title": title, "about": about, "daily_limit": daily_limit, "deadline": deadline, "view": view}
        with waiting("handing it in"), archive.open("rb") as stream:
            made = platform.ask("POST", "/benchmarks", Facts, data=terms, files={"package": ("package.zip", stream)})
    if not files.write(made):
        console().print(
            f"{made['turns']:,} turns in {made['dialogues']:,} dialogues, in the layouts {', '.join(made['layouts'])}\n"
            f"{server.rstrip('/')}/benchmarks/{made['slug']}",
            markup=False,
        )


@verb("list", command)
def list_command(server: str = argument(), files: OutputFiles = json_option) -> None:
    """The benchmarks of a server.

    \b
    Example
      dstress benchmark list http://127.0.0.1:8000
    """
    from dstress.leaderboard.client import Facts, Platform

    benchmarks = Platform(server).ask("GET", "/benchmarks", list[Facts])
    rows = []
    for entry in benchmarks:
        state = ("open" if entry["is_open"] else "closed") if entry["state"] == "done" else entry["state"]
        rows.append((entry["slug"], entry["title"], entry["corpus"], f"{entry['turns']:,}", state))
    files.show(benchmarks, [Table(("benchmark", "title", "corpus", "#turns", "state"), rows)])


@verb("download", command)
def download(
    address: str = argument(),
    layout: str = option(type=_LAYOUT, default="dstress", help="what your tracker reads"),
    out: Path | None = option(type=FILE, help="default: NAME-LAYOUT.zip here"),
) -> None:
    """The public inputs of a benchmark, as a zip.

    \b
    Example
      dstress benchmark download http://127.0.0.1:8000/benchmarks/reminder-quick-look --layout sgd
    """
    from dstress.leaderboard.client import Facts, Platform, parse_address

    server, slug = parse_address(address)
    platform, path = Platform(server), out or Path(f"{slug}-{layout}.zip")
    licence = platform.ask("GET", f"/benchmarks/{slug}", Facts)["licence"]
    with waiting("downloading"):
        platform.download(f"/benchmarks/{slug}/inputs/{layout}", path)
    console().print(f"{path}; licence of the data: {licence or 'not known'}", markup=False)


@verb("leaderboard", command)
def leaderboard(
    address: str = argument(),
    view: str = option(default="", help="suite, or a metric"),
    convention: str = option(type=CONVENTION, default="", help="what counts as correct"),
    by: str = option(default="", help="the column to order by"),
    files: OutputFiles = json_option,
) -> None:
    """The leaderboard of a benchmark; ~ marks what does not differ significantly from the one above.

    \b
    Example
      dstress benchmark leaderboard http://127.0.0.1:8000/benchmarks/reminder-quick-look --view jga
    """
    from dstress.leaderboard.client import Platform, Ranked, parse_address

    server, slug = parse_address(address)
    chosen = {"view": view, "convention": convention, "by": by}
    board = Platform(server).ask("GET", f"/benchmarks/{slug}/leaderboard", Ranked, params=chosen)
    columns, floors = board.get("columns", []), board.get("floors", {})
    rows = []
    for entry in board.get("systems", []):
        mark = "~" if entry["differs_from_above"] is False else ""
        scores = (_shown(entry["scores"].get(name)) for name in columns)
        rows.append((f"{entry['rank']}{mark}", entry["system"], entry["team"], *scores))
    if floors and rows:
        # The floor is of combined scores, which are points and no shares.
        rows.append(
            ("", "floor: policy(empty)", "", *(f"{floors[name]:.2f}" if name in floors else "" for name in columns))
        )
    whole = Table(("##", "system", "team", *(f"#{name}" for name in columns)), rows)
    if not files.write(board, [whole]):
        remarks = {
            "Avg.c": "Avg. is the mean of all columns that have a task or version, Avg.c of the stressed ones.",
            "~": "~ is not significantly different from the system above (paired test, Holm, p > 0.05).",
            "floor": "The floor is what a system scores that understands nothing and answers from templates.",
        }
        shown = {*columns, *("~" for entry in board.get("systems", []) if entry["differs_from_above"] is False)}
        shown |= {"floor"} if floors else set()
        print_all(_in_width(whole, console().width), [text for name, text in remarks.items() if name in shown])


def _in_width(table: Table, width: int) -> list[Table]:
    """The table, or several of its columns that fit a width, each with the place and the name of every system."""
    if sum(max(map(len, column)) + 2 for column in zip(table.names, *table.rows, strict=True)) - 2 <= width:
        return [table]
    names = [name.replace(" ", "\n") for name in table.columns]
    rows = [(place, fill(system, width // 3), *others) for place, system, *others in table.rows]
    longest = [
        max(len(line) for text in (name.lstrip("#"), *column) for line in text.split("\n"))
        for name, column in zip(names, zip(*rows, strict=True), strict=True)
    ]
    named, blocks = (0, 1), [list[int]()]
    for column in range(2, len(longest)):
        if blocks[-1] and sum(longest[each] + 2 for each in (*named, *blocks[-1], column)) - 2 > width:
            blocks.append([])
        blocks[-1].append(column)
    return [
        Table(
            [names[each] for each in (*named, *block)],
            [[row[each] for each in (*named, *block)] for row in rows if any(row[each] for each in block)],
        )
        for block in blocks
    ]


@verb("delete", command)
def delete(
    address: str = argument(), yes: bool = option(is_flag=True, help="do not ask"), token: str = token_option
) -> None:
    """Delete a benchmark of yours on which nothing is published, with its labels, inputs and submissions.

    \b
    Example
      dstress benchmark delete https://board.example.org/benchmarks/winter
    """
    from dstress.leaderboard.client import Facts, Platform, parse_address

    server, slug = parse_address(address)
    platform = Platform(server, token)
    title = platform.ask("GET", f"/benchmarks/{slug}", Facts)["title"]
    if not yes:
        click.confirm(f"Delete {title!r} ({slug}) with all that was submitted, for good?", abort=True)
    platform.ask("DELETE", f"/benchmarks/{slug}")
    console().print(f"{title} is deleted", markup=False)


def _shown(score: dict[str, Any] | None) -> str:
    """A value as people read it: its signature says what it is."""
    from dstress.reports.numbers import PLAIN
    from dstress.scoring.metrics.measures import measure_of

    if score is None:
        return PLAIN.unknown
    return PLAIN.measured(score["value"], measure_of(score["signature"].partition("|")[0]).unit)
