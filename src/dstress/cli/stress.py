"""`dstress stress`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dstress.cli.output import console, json_option, print_table, write_json
from dstress.cli.progress import counting
from dstress.corpora import load
from dstress.dialogue import Dialogue, Edit, Turn
from dstress.engines.local import Local
from dstress.errors import DstressError
from dstress.pipeline.stress import SEED, StressedCorpus, calibrated, describe, first, stress, write
from dstress.reports.tables import Table
from dstress.spec import parse_list
from dstress.storage.file_names import folder_name
from dstress.stressors import create
from dstress.stressors.quality import Quality, Summary

if TYPE_CHECKING:
    from rich.text import Text

_PREVIEW = 5
"""Pairs that are shown where nothing is written."""


@click.command("stress")
@click.argument("corpus", metavar="CORPUS:SPLIT")
@click.option("--with", "stressors", required=True, metavar="SPEC[,SPEC]", help="stressors; a+b applies both")
@click.option("--out", type=click.Path(file_okay=False), metavar="DIR", help="write each stressed corpus into DIR")
@click.option("--preview", type=click.IntRange(0), metavar="N", help="show N changed turns before and after")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="only the first N dialogues")
@click.option("--seed", default=SEED, show_default=True, help="seed of all randomness")
@click.option("--workers", type=click.IntRange(0), default=0, help="processes; default: cores, where it pays")
@click.option("--calibrate", metavar="wer=0.30", help="first find what gives this word error rate, and store it")
@json_option
def command(corpus: str, stressors: str, **given: Any) -> None:
    """Stress a corpus: break its words on purpose, keep its labels true.

    Each SPEC gives a corpus of its own under DIR, which every verb takes in place of a corpus name, and a summary of
    what was done. Without --out a few turns are shown and nothing is written.

    \b
    Examples
      dstress stress reminder:test --with typos
      dstress stress multiwoz21:test --with "typos(rate=0.2),entities+disfluency" --out stressed
      dstress stress multiwoz21:test --with speech --calibrate wer=0.30 --limit 200 --out spoken
      dstress stress sgd:test --with "schema_variant(version=v3)" --out v3
    """
    original = load(corpus)
    original = first(original, given["limit"]) if given["limit"] else original
    specs = parse_list(stressors)
    if given["calibrate"]:
        with counting("trials") as progress:
            target = _target(given["calibrate"])
            specs = [calibrated(original, spec, target, seed=given["seed"], progress=progress) for spec in specs]
    # All are prepared before the first is run: what is missing is told before any work.
    stressed = [stress(original, spec, seed=given["seed"], engine=engine_for(spec, given["workers"])) for spec in specs]
    if given["out"] is None:
        for one in stressed:
            _show(one, islice(_changed(one), _PREVIEW if given["preview"] is None else given["preview"]))
        return
    told = [_written(one, Path(given["out"]), given["preview"] or 0, bool(given["json_file"])) for one in stressed]
    if given["json_file"]:
        write_json({one.stressor.spec: describe(one, summary) for one, summary in told}, given["json_file"])
        return
    _print_summaries({one.stressor.spec: summary for one, summary in told})
    console().print(f"written to {given['out']}", markup=False)


def _target(text: str) -> dict[str, float]:
    name, _, value = text.partition("=")
    try:
        return {name.strip(): float(value)}
    except ValueError:
        problem = f"--calibrate takes a name and a number, not {text!r}"
        raise DstressError(problem, fix="write it like --calibrate wer=0.30") from None


def engine_for(spec: str, workers: int) -> Local | None:
    """Processes as asked; else one for every core, for stressors that are worth it."""
    heavy = any(part.heavy for part in create(spec).parts)
    wanted = workers or ((os.cpu_count() or 1) if heavy else 1)
    return Local(wanted) if wanted > 1 else None


def _written(stressed: StressedCorpus, folder: Path, preview: int, quiet: bool) -> tuple[StressedCorpus, Summary]:
    shown: list[tuple[Dialogue, int]] = []
    with counting("dialogues") as progress:
        done = 0

        def watch(dialogue: Dialogue) -> None:
            nonlocal done
            done += 1
            progress(stressed.stressor.spec, done)
            if len(shown) < preview:
                shown.extend(_places(dialogue))

        summary = write(stressed, folder / folder_name(stressed.stressor.spec), Quality(stressed.stressor), watch)
    if preview and not quiet:
        _show(stressed, islice(iter(shown), preview))
    return stressed, summary


def _changed(stressed: StressedCorpus) -> Iterator[tuple[Dialogue, int]]:
    for dialogue in stressed:
        yield from _places(dialogue)


def _places(dialogue: Dialogue) -> Iterator[tuple[Dialogue, int]]:
    """Turns whose words are others; a label that changed with an earlier turn's words is no news."""
    stressed = ((index, turn.stress) for index, turn in enumerate(dialogue.turns))
    return ((dialogue, index) for index, stress in stressed if stress and (stress.edits or stress.system_edits))


def _show(stressed: StressedCorpus, pairs: Iterator[tuple[Dialogue, int]]) -> None:
    out = console()
    out.print(stressed.stressor.spec, style="bold", markup=False)
    if stressed.stressor.scope == "schema":
        _show_names(stressed)
    for dialogue, index in pairs:
        turn = dialogue.turns[index]
        out.print(f"\n{dialogue.id}, turn {index}", style="dim", markup=False)
        for label, before, after, edits in _lines(turn):
            out.print(_marked(f"- {label}", before, [(e.start, e.before) for e in edits], "red strike"))
            out.print(_marked(f"+ {label}", after, _after(edits), "green"))
        for slot, values in turn.state.items():
            was = turn.original.state.get(slot)
            if was != values:
                out.print(f"  {slot}: {'|'.join(was or ('none',))} -> {'|'.join(values)}", style="cyan", markup=False)
        for slot in turn.original.state.keys() - turn.state.keys():
            out.print(f"  {slot}: {'|'.join(turn.original.state[slot])} -> none", style="cyan", markup=False)
    out.print()


def _lines(turn: Turn) -> Iterator[tuple[str, str, str, tuple[Edit, ...]]]:
    stress = turn.stress
    if stress and stress.system_edits:
        yield "system: ", stress.original.system, turn.system, stress.system_edits
    if stress and stress.edits:
        yield "user:   ", stress.original.user, turn.user, stress.edits


def _after(edits: tuple[Edit, ...]) -> list[tuple[int, str]]:
    grown, places = 0, []
    for edit in edits:
        places.append((edit.start + grown, edit.after))
        grown += len(edit.after) - len(edit.before)
    return places


def _marked(label: str, text: str, places: list[tuple[int, str]], style: str) -> Text:
    from rich.text import Text

    line = Text(label, style="dim")
    line.append(text, style="default not dim")
    for start, part in places:
        line.stylize(f"not dim {style}", len(label) + start, len(label) + start + len(part))
    return line


def _show_names(stressed: StressedCorpus) -> None:
    """The first changed names of each service."""
    pairs = zip(stressed.original.schema.services, stressed.schema.services, strict=True)
    for before, after in islice(pairs, _PREVIEW):
        console().print(f"\n{before.name} -> {after.name}", style="dim", markup=False)
        for old, new in islice(zip(before.slots, after.slots, strict=True), _PREVIEW):
            if old != new:
                console().print(f"- {old.name}: {old.description}", style="red", markup=False)
                console().print(f"+ {new.name}: {new.description}", style="green", markup=False)


def _print_summaries(summaries: dict[str, Summary]) -> None:
    columns = ("stressor", "#turns", "#changed %", "#fell back %", "#words changed %", "#values kept %")
    distinct = tuple(f"#distinct-{n}" for n in range(1, 5))
    rows = [_row(spec, summary) for spec, summary in summaries.items()]
    print_table(Table((*columns, *distinct), rows, "distinct-n: share of distinct n-grams, before > after"))
    for spec, summary in summaries.items():
        told = [f"{name} {_figure(value)}" for name, value in summary.figures.items()]
        if summary.similarity is not None:
            told.append(f"embedding similarity {summary.similarity:.3f} over {summary.compared:,} changed turns")
        told += [f"{count:,} turns: {tag}" for tag, count in summary.tags.items()]
        told += [f"{count:,} {what}" for what, count in summary.counts.items()]
        told += [f"{count:,} turns stay as they were: {reason}" for reason, count in summary.fallbacks.items()]
        for line in told:
            console().print(f"{spec}: {line}", markup=False)


def _figure(value: float) -> str:
    return f"{100 * value:.1f} %" if 0 <= value <= 1 else f"{value:.2f}"


def _row(spec: str, summary: Summary) -> tuple[str, ...]:
    turns = max(summary.turns, 1)
    kept = summary.values_still_said / summary.values if summary.values else None
    shares = (summary.share_changed, sum(summary.fallbacks.values()) / turns, summary.words_changed, kept)
    grams = (f"{before:.3f} > {after:.3f}" for before, after in summary.distinct.values())
    return spec, f"{summary.turns:,}", *("-" if share is None else f"{100 * share:.1f}" for share in shares), *grams
