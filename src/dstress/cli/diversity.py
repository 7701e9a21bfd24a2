"""`dstress diversity`: tables 1, 2, 6 and 7 of CoCo for any corpus, and for its stressed version beside it."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

from dstress.cli.names import CORPUS
from dstress.cli.options import argument, option, verb
from dstress.cli.output import OutputFiles, table_options
from dstress.cli.progress import counting
from dstress.corpora import load
from dstress.dialogue import Schema
from dstress.errors import unknown
from dstress.reports.numbers import PLAIN
from dstress.reports.tables import Table
from dstress.studies.diversity import TRAIN, Company, Figures, measure
from dstress.text.ngrams import LONGEST_GRAM
from dstress.text.slot_names import SlotNames


@verb("diversity")
def command(
    corpus: str = argument(type=CORPUS, metavar="CORPUS[:SPLIT]"),
    train: str = option(
        type=CORPUS, default="", metavar="CORPUS:SPLIT", help="training data; default: the corpus's own"
    ),
    slots: tuple[str, ...] = option(
        "--slot", multiple=True, metavar="SLOT", help="show which slots occur together with this one; may be repeated"
    ),
    files: OutputFiles = table_options,
) -> None:
    """Measure the diversity of a corpus: distinct n-grams, values seen in training, slots that occur together.

    If CORPUS is a folder that `dstress stress` wrote, original and stressed turns are shown side by side.

    \b
    Examples
      dstress diversity multiwoz21:test --train mwz21-trade:train --slot "restaurant-book people"
      dstress diversity stressed/values
      dstress diversity reminder:test --json
    """
    opened = load(corpus)
    chosen = _resolve_slots(slots, opened.schema)
    with counting("dialogues") as on_progress:
        figures = measure(opened, corpus, train, on_progress)
    data = figures.data
    covered = [_coverage(data)] if figures.train else []
    tables = [_words(data), *covered, *([_company(data, slot) for slot in chosen] or [_entropies(data)])]
    untold = "the corpus has no training split, so nothing is said of known values; give one with --train"
    files.show(figures, tables, notes=[] if figures.train else [untold])


def _resolve_slots(texts: Sequence[str], schema: Schema) -> list[str]:
    names = SlotNames(schema)
    slots = [names.split(text) for text in texts]
    for slot, text in zip(slots, texts, strict=True):
        if slot not in schema.slots:
            raise unknown("slot", text, schema.slots, fix='slots are written as service-slot: "hotel-book day"')
    return slots


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
        cells = []
        for slot_coverage in (coverage.get(slot) for coverage in sides):
            if slot_coverage is None:
                cells.append(("0", "-", "0", "-"))
            else:
                share, of_values = (
                    PLAIN.percent(slot_coverage.share, 1),
                    PLAIN.percent(slot_coverage.known_values / slot_coverage.values, 1),
                )
                cells.append((f"{slot_coverage.uses:,}", share, f"{slot_coverage.values:,}", of_values))
        rows.append((slot, *(" > ".join(dict.fromkeys(column)) for column in zip(*cells, strict=True))))
    caption = "what the training data know: of the uses of values, and of the values"
    columns = ("slot", "#uses", "#known %", "#values", "#known values %")
    return Table(columns, rows, f"{caption}; original > stressed where they differ" if len(sides) > 1 else caption)


def _company(data: dict[str, Figures], slot: str) -> Table:
    companies = {label: figures.company[slot] for label, figures in data.items() if slot in figures.company}
    others = sorted({other for company in companies.values() for other in company.counts})
    rows = []
    for label, company in companies.items():
        shares = (PLAIN.percent(company.shares.get(other, 0.0), 1) for other in others)
        rows.append((label, f"{company.turns:,}", *shares, f"{company.entropy:.2f}"))
    columns = (slot, "#turns", *(f"#{other.partition('-')[2]}" for other in others), "#entropy")
    caption = f"% of the slots that come with {slot} in one utterance; entropy in log 10"
    most = log10(len(others) or 1)
    return Table(columns, rows, f"{caption}, {most:.2f} if all came alike")


def _entropies(data: dict[str, Figures]) -> Table:
    rows = []
    for slot in dict.fromkeys(slot for figures in data.values() for slot in figures.company):
        companies = [figures.company.get(slot) for figures in data.values()]
        most = next(company.most for company in companies if company)
        cells = [f"{company.entropy:.2f}" if company else "-" for company in companies]
        rows.append((slot, *cells, f"{most:.2f}", _most_frequent(companies[-1])))
    columns = ("slot", *(f"#entropy, {label}" for label in data), "#at most", "comes most often with")
    caption = "entropy (log 10) of the slots that come with a slot in one utterance; --slot shows one"
    return Table(columns, rows, caption)


def _most_frequent(company: Company | None) -> str:
    """The slots that come most often with one, and their shares."""
    if company is None:
        return "-"
    others = sorted(company.counts, key=lambda other: -company.counts[other])[:3]
    shown = (
        f"{other.partition('-')[2]} {PLAIN.percent(company.shares[other], 0)} %"
        for other in others
        if company.counts[other]
    )
    return ", ".join(shown) or "no other"
