"""`dstress submit`."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import msgspec

from dstress.cli.options import EXISTING, FiniteRange, argument, format_option, option, token_option, verb
from dstress.cli.output import OutputFiles, console, json_option, print_notes, print_table
from dstress.cli.progress import counting, waiting
from dstress.errors import UNREADABLE_JSON, DstressError


@verb("submit")
def command(
    answers: Path | None = argument(type=EXISTING, required=False),
    address: str = option("--to", required=True, metavar="URL", help="the benchmark's address"),
    system: str = option(required=True, help="the system's name; the same name again makes a new version of it"),
    spec: str = option(
        "--tracker", default="", metavar="SPEC", help="in place of a file: let this tracker answer first"
    ),
    team: str = option(default="", help="if you are in several"),
    about: str = option(default="", help="a few words about the system"),
    format_: str = format_option,
    publish: bool = option(is_flag=True, help="show the result to everybody as soon as it is there"),
    wait: bool = option("--wait/--no-wait", default=True, help="wait for the scores"),
    timeout: float = option(
        type=FiniteRange(0), default=3600, metavar="SECONDS", help="wait for the scores no longer; the submission stays"
    ),
    token: str = token_option,
    files: OutputFiles = json_option,
) -> None:
    """Submit ANSWERS: a prediction file, a folder of such, or a zip, in any format that `dstress score` reads.

    They are checked at once, in the words of `dstress score`. The result is your team's own until it is published.
    Your token is on the page Tokens of your account.

    \b
    Examples
      dstress submit answers.jsonl --to https://board.example.org/benchmarks/winter --system "Rules 2"
      dstress submit --tracker rules --to https://board.example.org/benchmarks/winter --system Rules --publish
    """
    from dstress.leaderboard.client import Facts, Handed, Platform, Scored, parse_address

    if (answers is None) == (not spec):
        raise click.UsageError("give a file of answers, or --tracker")
    if publish and not wait:
        raise click.UsageError("--publish needs the scores: leave --no-wait out")
    server, slug = parse_address(address)
    platform = Platform(server, token)
    platform.ask("GET", "/account")
    view = next(iter(platform.ask("GET", f"/benchmarks/{slug}", Facts)["views"]), "")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dstress-")))
        file = _track(platform, slug, spec, folder) if answers is None else _one_file(answers, folder)
        data = {"system": system, "team": team, "about": about, "format": format_}
        with waiting("handing in"), file.open("rb") as stream:
            sent = {"answers": (file.name, stream)}
            made = platform.ask("POST", f"/benchmarks/{slug}/submissions", Handed, data=data, files=sent)
    if wait:
        with waiting("being scored"):
            made = platform.await_submission(made["id"], timeout)
        if made["state"] == "failed":
            raise DstressError(made["problem"], where=f"submission {made['id']}")
    if publish:
        made = platform.ask("POST", f"/submissions/{made['id']}/publish", Handed)
    scores = platform.ask("GET", f"/submissions/{made['id']}/scores", Scored) if wait else {}  # exact once published
    if files.write(made | {"scores": scores}):
        return
    if scores:
        print_table(_table(scores, view))
    print_notes(made["notes"])
    console().print(f"{server}/submissions/{made['id']}", markup=False)


def _one_file(answers: Path, folder: Path) -> Path:
    """What is sent: the file, or a folder as a zip."""
    return Path(shutil.make_archive(str(folder / "answers"), "zip", answers)) if answers.is_dir() else answers


def _track(platform: Any, slug: str, spec: str, folder: Path) -> Path:
    """A tracker's answers to the public inputs, a folder for each part where they have several."""
    from dstress.corpora import load
    from dstress.leaderboard.benchmarks.tracking import track_inputs
    from dstress.storage.sources import open_source
    from dstress.trackers import create

    archive, out = folder / "inputs.zip", folder / "answers"
    with waiting("downloading the inputs"):
        platform.download(f"/benchmarks/{slug}/inputs/dstress", archive)
    with open_source(archive) as source:
        try:
            turns = msgspec.json.decode(source.named("asked.json")[0].read(), type=dict[str, list[int]])
        except (IndexError, *UNREADABLE_JSON):
            raise DstressError("what came are no inputs of a benchmark", where=platform.address) from None
        parts = sorted({file.folder for file in source.ending(".jsonl")})
        for file in source.files:
            (folder / "inputs" / file.folder).mkdir(parents=True, exist_ok=True)
            (folder / "inputs" / file.name).write_bytes(file.read())
    with counting("turns") as show:
        for part in parts:
            corpus = load(f"{folder / 'inputs' / part}:test")
            track_inputs(
                corpus, turns, create(spec), out / part / "answers.jsonl", on_progress=lambda done: show(spec, done)
            )
    return out / "answers.jsonl" if parts == [""] else _one_file(out, folder)


def _table(scores: dict[str, Any], view: str) -> Any:
    """What the submission has reached on the leaderboard that is shown first."""
    from dstress.reports.numbers import PLAIN
    from dstress.reports.tables import Table
    from dstress.scoring.metrics.measures import measure_of

    rows, floors = [], scores.get("floors", {}).get(view, {})
    for cell in scores["cells"].get(view, ()):
        if score := cell["score"]:
            unit = measure_of(cell["metric"]).unit
            low, high = (float("nan") if score[end] is None else score[end] for end in ("low", "high"))
            shown = PLAIN.measured(score["value"], unit), PLAIN.measured_interval(low, high, unit)
            floor = floors.get(cell["column"])
            rows.append((cell["column"], *shown, *([PLAIN.measured(floor, unit) if floor else ""] if floors else [])))
    return Table((view, "#%", "#95 % interval", *(["#floor"] if floors else [])), rows)
