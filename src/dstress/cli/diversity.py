"""`dstress diversity`: tables 1, 2, 6 and 7 of CoCo for any corpus, and for its stressed version beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import log10
from pathlib import Path
from typing import Any

import click
import msgspec

from dstress.analysis.diversity import Company, Coverage, Diversity, Figures, originals, values_of
from dstress.cli.output import json_option, print_notes, print_table, table_options, write_json, write_tables
from dstress.cli.progress import counting
from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Schema
from dstress.errors import DstressError, unknown
from dstress.reports.tables import Table
from dstress.text.ngrams import LONGEST_GRAM
from dstress.text.slot_names import SlotNames

TRAIN, ORIGINAL, STRESSED = "train", "original", "stressed"


class Found(msgspec.Struct):
    """What is shown, and what `--json` writes: the figures of the data by their names."""

    corpus: str
    train: str
    data: dict[str, Figures]


@click.command("diversity")
@click.argument("corpus", metavar="CORPUS[:SPLIT]")
@click.option("--train", default="", metavar="CORPUS:SPLIT", help="training data; default: the corpus's own")
@click.option("--slot", "slots", multiple=True, metavar="SLOT", help="with which slots this one comes; may be repeated")
@table_options
@json_option
def command(corpus: str, train: str, slots: tuple[str, ...], **given: Any) -> None:
    """Show how varied a corpus is: distinct n-grams, values known from training, slots that come together.

    CORPUS may be a folder that `dstress stress` wrote: the original and the stressed turns then stand side by side.

    \b
    Examples
      dstress diversity multiwoz21:test --train mwz21-trade:train --slot "restaurant-book people"
      dstress diversity stressed/values
      dstress diversity reminder:test --json
    """
    opened = load(corpus)
    wanted = _settled(slots, opened.schema)
    found = measured(opened, corpus, train)
    if given["json_file"]:
        write_json(found, given["json_file"])
        return
    tables = _tables(found, wanted)
    if write_tables(tables, given["markdown"], given["latex"]):
        return
    for table in tables:
        print_table(table)
    if not found.train:
        print_notes(["the corpus has no training split, so nothing is said of known values; give one with --train"])


def measured(corpus: Corpus, name: str, train: str = "") -> Found:
    """The figures of a corpus; of a stressed one, also those of the turns as they were."""
    train = train or corpus.train or _train_of(Path(name.rpartition(":")[0] or name), Path(name))
    with counting("dialogues") as progress:
        data: dict[str, Diversity] = {}
        known = None
        if train:
            training = load(train)
            data[TRAIN] = Diversity(training.schema, grams=False)
            known = values_of(_through([data[TRAIN]], _watched(training, TRAIN, progress)))
        data[ORIGINAL] = Diversity(corpus.schema, known)
        if corpus.stressed:
            data[STRESSED] = Diversity(corpus.schema, known)
        for dialogue in _watched(corpus, name, progress):
            data[ORIGINAL].add(originals(dialogue) if corpus.stressed else dialogue)
            if corpus.stressed:
                data[STRESSED].add(dialogue)
    return Found(name, train, {label: counted.figures() for label, counted in data.items()})


def _train_of(*folders: Path) -> str:
    """The training split of the corpus that a stressed one was made from, where it is there."""
    for folder in folders:
        described = folder / "stress.json"
        if described.is_file():
            told = msgspec.json.decode(described.read_bytes(), type=dict[str, Any])
            try:
                return load(str(told.get("corpus", ""))).train
            except DstressError:  # it was made elsewhere, or its corpus is gone
                return ""
    return ""


def _through(counters: Sequence[Diversity], dialogues: Iterable[Dialogue]) -> Iterator[Dialogue]:
    for dialogue in dialogues:
        for counter in counters:
            counter.add(dialogue)
        yield dialogue


def _watched(corpus: Iterable[Dialogue], name: str, progress: Any) -> Iterator[Dialogue]:
    for done, dialogue in enumerate(corpus, start=1):
        yield dialogue
        progress(name, done)


def _settled(slots: Sequence[str], schema: Schema) -> list[str]:
    names = SlotNames(schema)
    found = [names.split(slot) for slot in slots]
    for slot, text in zip(found, slots, strict=True):
        if slot not in schema.slots:
            raise unknown("slot", text, schema.slots, fix='slots are written as service-slot: "hotel-book day"')
    return found


def _tables(found: Found, slots: Sequence[str]) -> list[Table]:
    shown = [_words(found.data)]
    if found.train:
        shown.append(_coverage(found.data))
    return shown + ([_company(found.data, slot) for slot in slots] or [_entropies(found.data)])


def _words(data: dict[str, Figures]) -> Table:
    grams = [f"#distinct-{n}" for n in range(1, LONGEST_GRAM + 1)]
    context = [f"#in context-{n}" for n in range(1, LONGEST_GRAM + 1)]
    rows = []
    for label, figures in data.items():
        counts = (f"{number:,}" for number in (figures.dialogues, figures.turns, figures.labelled))
        shares = (f"{share:.3f}" for share in (*figures.distinct.values(), *figures.in_context.values()))
        rows.append((label, *counts, *(shares if figures.distinct else ["-"] * 2 * LONGEST_GRAM)))
    caption = (
        "distinct-n: distinct n-grams of the users' words among all; in context: of labelled turns with all that was "
        "said before"
    )
    return Table(("data", "#dialogues", "#user turns", "#labelled", *grams, *context), rows, caption)


def _coverage(data: dict[str, Figures]) -> Table:
    sides = [figures.coverage for label, figures in data.items() if label != TRAIN]
    rows = []
    for slot in dict.fromkeys(slot for coverage in sides for slot in coverage):
        found = zip(*(_cells(coverage.get(slot)) for coverage in sides), strict=True)
        rows.append((slot, *(" > ".join(dict.fromkeys(cells)) for cells in found)))
    caption = "what the training data know: of the uses of values, and of the values"
    columns = ("slot", "#uses", "#known %", "#values", "#known values %")
    return Table(columns, rows, f"{caption}; original > stressed where they differ" if len(sides) > 1 else caption)


def _cells(found: Coverage | None) -> tuple[str, str, str, str]:
    if found is None:
        return "0", "-", "0", "-"
    known = found.known_values / found.values
    return f"{found.uses:,}", f"{100 * found.share:.1f}", f"{found.values:,}", f"{100 * known:.1f}"


def _company(data: dict[str, Figures], slot: str) -> Table:
    others = sorted({other for figures in data.values() for other in _counts(figures, slot)})
    rows = []
    for label, figures in data.items():
        found = figures.company.get(slot)
        if found is not None:
            shares = (f"{100 * found.shares.get(other, 0.0):.1f}" for other in others)
            rows.append((label, f"{found.turns:,}", *shares, f"{found.entropy:.2f}"))
    columns = (slot, "#turns", *(f"#{other.partition('-')[2]}" for other in others), "#entropy")
    caption = f"% of the slots that come with {slot} in one utterance; entropy in log 10"
    most = log10(len(others) or 1)
    return Table(columns, rows, f"{caption}, {most:.2f} if all came alike")


def _counts(figures: Figures, slot: str) -> dict[str, int]:
    return figures.company[slot].counts if slot in figures.company else {}


def _entropies(data: dict[str, Figures]) -> Table:
    rows = []
    for slot in dict.fromkeys(slot for figures in data.values() for slot in figures.company):
        found = [figures.company.get(slot) for figures in data.values()]
        most = next(company.most for company in found if company)
        cells = [f"{company.entropy:.2f}" if company else "-" for company in found]
        rows.append((slot, *cells, f"{most:.2f}", _often(found[-1])))
    columns = ("slot", *(f"#entropy, {label}" for label in data), "#at most", "comes most often with")
    return Table(
        columns, rows, "entropy (log 10) of the slots that come with a slot in one utterance; --slot shows one"
    )


def _often(company: Company | None) -> str:
    if company is None:
        return "-"
    first = sorted(company.counts, key=lambda other: -company.counts[other])[:3]
    told = (
        f"{other.partition('-')[2]} {100 * company.shares[other]:.0f} %" for other in first if company.counts[other]
    )
    return ", ".join(told) or "no other"
