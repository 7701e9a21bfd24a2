"""`dstress stress`."""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dstress.cli.names import CORPUS, STRESSOR
from dstress.cli.options import FOLDER, argument, draw_option, limit_option, meanings_option, option, seed_option, verb
from dstress.cli.output import OutputFiles, OutputPath, console, json_option, print_table
from dstress.cli.progress import counting
from dstress.corpora import load
from dstress.dialogue import Dialogue, Schema, Stress, Turn
from dstress.engines.base import cores
from dstress.engines.local import Local
from dstress.errors import DstressError
from dstress.pipeline.stress import (
    OWN_LAYOUT,
    SEED,
    StressedCorpus,
    calibrate_spec,
    describe,
    stress,
    write_corpus,
    write_stressed,
)
from dstress.reports.before_after import BeforeAfter
from dstress.reports.numbers import PLAIN
from dstress.reports.tables import Table
from dstress.runs.suites.base import ORIGINAL
from dstress.spec import parse_list
from dstress.storage.file_names import file_name
from dstress.stressors import create
from dstress.stressors.quality import Quality, Summary
from dstress.text.schema_distance import SchemaChange

if TYPE_CHECKING:
    from rich.text import Text

_PREVIEW = 5
"""Pairs that are shown where nothing is written."""


@verb("stress")
def command(
    corpus: str = argument(type=CORPUS, metavar="CORPUS:SPLIT"),
    stressors: str = option(
        "--with",
        type=STRESSOR,
        required=True,
        metavar="SPEC[,SPEC]",
        help="stressors to apply, separately; a+b applies both together",
    ),
    out: Path | None = option(type=FOLDER, metavar="DIR", help="write each stressed corpus into DIR"),
    layout: str = option(
        type=click.Choice([OWN_LAYOUT, "multiwoz", "sgd", "trade", "unified"]),
        default=OWN_LAYOUT,
        help="file layout that your tracker reads; any but dstress also writes the original corpus",
    ),
    html: Path | None = option(
        type=OutputPath(), metavar="FILE", help="write one page that shows every turn before and after"
    ),
    preview: int | None = option(
        type=click.IntRange(0), metavar="N", help="show N changed turns or slots before and after"
    ),
    limit: int = limit_option,
    draw: int = draw_option,
    seed: int = seed_option(SEED),
    workers: int = option(
        type=click.IntRange(0), default=0, help="worker processes; default: one per core for slow stressors, else one"
    ),
    calibrate: str | None = option(
        metavar="wer=0.30", help="fit the speech channel to this word error rate first, and store it"
    ),
    meanings: bool = meanings_option,
    files: OutputFiles = json_option,
) -> None:
    """Apply stressors to a corpus and keep its labels correct.

    Each SPEC gives a stressed corpus, written under DIR, and a summary of the changes. Every command accepts the
    written folder instead of a corpus name. --html writes a page to browse, which opens offline. Without --out and
    --html, a few changed turns are shown and nothing is written.

    \b
    Examples
      dstress stress reminder:test --with typos
      dstress stress multiwoz21:test --with "typos(rate=0.2),entities+disfluency" --out stressed
      dstress stress multiwoz21:test --with speech --calibrate wer=0.30 --limit 200 --out spoken
      dstress stress sgd:test --with "schema_variant(version=v3)" --out v3
      dstress stress multiwoz21:test --with typos,paraphrase --layout trade --out stressed
      dstress stress reminder:test --with typos,entities --html before-after.html
    """
    original = load(corpus, limit=limit, draw=draw, seed=seed)
    specs = parse_list(stressors)
    if calibrate:
        target = _parse_target(calibrate)
        with counting("trials") as on_progress:
            specs = [calibrate_spec(original, spec, target, seed=seed, progress=on_progress) for spec in specs]
    # All are prepared before the first is run: what is missing is told before any work.
    versions = [stress(original, spec, seed=seed, engine=engine_for([spec], workers)) for spec in specs]
    summaries: dict[str, Summary] = {}
    if out is None and html is None:
        for stressed in versions:
            quality = Quality(stressed.stressor, meanings=meanings)
            changed = (place for dialogue in quality.watching(stressed) for place in _changed_turns(dialogue))
            if files.json:
                deque(changed, maxlen=0)
                summaries[stressed.stressor.spec] = quality.summary()
            else:
                _show(stressed, changed, _PREVIEW if preview is None else preview, quality)
        if files.json:
            files.write(_descriptions(versions, summaries))
        return
    page = BeforeAfter(original) if html else None
    shown = 0 if files.json else preview or 0
    for number, stressed in enumerate(versions, start=1):
        label = f"stressor {number} of {len(versions)}: {stressed.stressor.spec}"
        summaries[stressed.stressor.spec] = _write(stressed, out, page, shown, layout, label, meanings)
    if out and layout != OWN_LAYOUT:
        write_corpus(original, out / ORIGINAL, layout)
    descriptions = _descriptions(versions, summaries)
    if page and html:
        part = [f"--{name}={number}" for name, number in (("limit", limit), ("draw", draw)) if number]
        again = ["dstress", "stress", corpus, "--with", ",".join(summaries), *part, f"--seed={seed}"]
        page.write(html, descriptions, shlex.join(again))
    if files.write(descriptions):
        return
    _print_summaries(
        summaries, {stressed.stressor.spec: change for stressed in versions if (change := stressed.schema_change())}
    )
    for written in filter(None, (out, html)):
        console().print(f"written to {written}", markup=False)


def _descriptions(versions: Iterable[StressedCorpus], summaries: dict[str, Summary]) -> dict[str, Any]:
    return {stressed.stressor.spec: describe(stressed, summaries[stressed.stressor.spec]) for stressed in versions}


def _parse_target(text: str) -> dict[str, float]:
    name, _, value = text.partition("=")
    try:
        return {name.strip(): float(value)}
    except ValueError:
        problem = f"--calibrate takes a name and a number, not {text!r}"
        raise DstressError(problem, fix="write it like --calibrate wer=0.30") from None


def engine_for(specs: Iterable[str], workers: int) -> Local | None:
    """Processes as asked; else one for every core, for stressors that are worth it."""
    heavy = any(part.heavy for spec in specs for part in create(spec).parts)
    workers = workers or (cores() if heavy else 1)
    return Local(workers) if workers > 1 else None


def _write(
    stressed: StressedCorpus,
    out: Path | None,
    page: BeforeAfter | None,
    preview: int,
    layout: str,
    label: str,
    meanings: bool,
) -> Summary:
    """Write a stressed corpus into its own folder and onto the page, and show the first changed turns."""
    spec = stressed.stressor.spec
    changed: list[tuple[Dialogue, int]] = []
    done, quality = count(1), Quality(stressed.stressor, meanings=meanings)
    turns = page.stressor(spec, stressed.schema) if page else None
    with counting("dialogues") as on_progress:

        def watch(dialogue: Dialogue) -> None:
            on_progress(label, next(done), stressed.original.size)
            if turns:
                turns.add(dialogue)
            if len(changed) < preview:
                changed.extend(_changed_turns(dialogue))

        if out:
            write_stressed(stressed, out / file_name(spec), quality, watch, layout)
        else:
            for dialogue in quality.watching(stressed):
                watch(dialogue)
    if preview:
        _show(stressed, changed, preview, quality)
    return quality.summary()


def _changed_turns(dialogue: Dialogue) -> Iterator[tuple[Dialogue, int]]:
    """Turns whose words are others; a label that changed with an earlier turn's words is no news."""
    for index, turn in enumerate(dialogue.turns):
        if turn.stress and (turn.stress.edits or turn.stress.system_edits):
            yield dialogue, index


def _show(stressed: StressedCorpus, changed: Iterable[tuple[Dialogue, int]], preview: int, quality: Quality) -> None:
    """Changed turns before and after; where there are none, why."""
    out = console()
    out.print(stressed.stressor.spec, style="bold", markup=False)
    shown = list(islice(changed, preview))
    if schema_change := stressed.schema_change():
        _show_schema(stressed.schema, schema_change, preview)
    elif not shown:
        summary = quality.summary()
        out.print(f"no turn of {summary.turns:,} has other words")
        for remark in _summary_lines(summary):
            out.print(remark, markup=False)
    for dialogue, index in shown:
        turn = dialogue.turns[index]
        out.print(f"\n{dialogue.id}, turn {index}", style="dim", markup=False)
        for line in _edited_lines(turn):
            out.print(line)
        before = turn.original.state
        for slot, values in turn.state.items():
            if before.get(slot) != values:
                was = "|".join(before.get(slot) or ("none",))
                out.print(f"  {slot}: {was} -> {'|'.join(values)}", style="cyan", markup=False)
        for slot in before.keys() - turn.state.keys():
            out.print(f"  {slot}: {'|'.join(before[slot])} -> none", style="cyan", markup=False)
    out.print()


def _edited_lines(turn: Turn) -> Iterator[Text]:
    """The turn's words before and after, with what was edited marked."""
    stress = turn.stress or Stress(turn)
    for label, before, after, edits in (
        ("system: ", stress.original.system, turn.system, stress.system_edits),
        ("user:   ", stress.original.user, turn.user, stress.edits),
    ):
        if edits:
            grown, places = 0, []
            for edit in edits:
                places.append((edit.start + grown, edit.after))
                grown += len(edit.after) - len(edit.before)
            yield _marked(f"- {label}", before, [(edit.start, edit.before) for edit in edits], "red strike")
            yield _marked(f"+ {label}", after, places, "green")


def _marked(label: str, text: str, places: list[tuple[int, str]], style: str) -> Text:
    from rich.text import Text

    line = Text(label, style="dim")
    line.append(text, style="default not dim")
    for start, part in places:
        line.stylize(f"not dim {style}", len(label) + start, len(label) + start + len(part))
    return line


def _show_schema(schema: Schema, change: SchemaChange, preview: int) -> None:
    """How much of the schema changed, the services that are new, and some changed slots, from all over the schema."""
    for line in _schema_lines(change):
        console().print(line, markup=False)
    for service in map(schema.by_name.__getitem__, change.services_added):
        slots = ", ".join(slot.name for slot in service.slots)
        console().print(f"+ {service.name}: {service.description} ({slots})", style="green", markup=False)
    for slot in change.slots[:: max(1, len(change.slots) // preview)][:preview] if preview else ():
        console().print(f"\n- {slot.before}: {slot.description_before}", style="red", markup=False)
        console().print(f"+ {slot.after}: {slot.description_after}", style="green", markup=False)


def _schema_lines(change: SchemaChange) -> Iterator[str]:
    if change.names_changed or change.descriptions_changed:
        names = f"{change.names_changed:,} of {change.names:,} names changed, mean distance {change.name_distance:.2f}"
        descriptions = f"{change.descriptions_changed:,} of {change.descriptions:,} descriptions"
        yield f"{names}; {descriptions}, BLEU {change.description_bleu:.1f}"
    if change.services_added:
        yield f"{len(change.services_added):,} services added"


def _print_summaries(summaries: dict[str, Summary], schema_changes: dict[str, SchemaChange]) -> None:
    rows = []
    for spec, summary in summaries.items():
        fell_back = sum(summary.fallbacks.values()) / max(summary.turns, 1)
        kept = summary.values_still_said / summary.values if summary.values else None
        shares: tuple[float | None, ...] = (summary.share_changed, fell_back, summary.words_changed, kept)
        if spec in schema_changes and not summary.changed:
            shares = (None,) * len(shares)  # words stay by design; what changed is told below
        grams = (f"{before:.3f} > {after:.3f}" for before, after in summary.distinct.values())
        rows.append((spec, f"{summary.turns:,}", *(PLAIN.percent(share, 1) for share in shares), *grams))
    columns = ("stressor", "#turns", "#changed %", "#fell back %", "#words changed %", "#values kept %")
    distinct = tuple(f"#distinct-{n}" for n in range(1, 5))
    print_table(Table((*columns, *distinct), rows, "distinct-n: share of distinct n-grams, before > after"))
    for spec, summary in summaries.items():
        schema_lines = _schema_lines(schema_changes[spec]) if spec in schema_changes else ()
        for line in (*schema_lines, *_summary_lines(summary)):
            console().print(f"{spec}: {line}", markup=False)


def _summary_lines(summary: Summary) -> Iterator[str]:
    """What the table has no column for."""
    for name, value in summary.figures.items():
        yield f"{name} {PLAIN.percent(value, 1)} %" if 0 <= value <= 1 else f"{name} {value:.2f}"
    if summary.similarity is not None:
        yield f"embedding similarity {summary.similarity:.3f} over {summary.compared:,} changed turns"
    yield from (f"{count:,} turns: {tag}" for tag, count in summary.tags.items())
    yield from (f"{count:,} {what}" for what, count in summary.counts.items())
    yield from (f"{count:,} turns stay as they were: {reason}" for reason, count in summary.fallbacks.items())
