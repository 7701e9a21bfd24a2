"""`dstress corpora show NAME --variants`: how far a corpus's schema variants are from it, beside SGD-X's table 1."""

from __future__ import annotations

from collections.abc import Sequence

from dstress.cli.output import OutputFiles
from dstress.cli.progress import waiting
from dstress.reports.tables import Table
from dstress.studies.schema_variants import SchemaVariants, measure_variants
from dstress.text.schema_distance import Figures

_COLUMNS = {
    "slot_names_seen": ("slot names seen", "{:.0%}"),
    "intent_names_seen": ("intent names seen", "{:.0%}"),
    "name_distance": ("name distance", "{:.3f}"),
    "description_bleu": ("BLEU", "{:.1f}"),
    "description_jaccard": ("Jaccard distance", "{:.2f}"),
    "self_bleu": ("self-BLEU", "{:.1f}"),
}


def show_variants(name: str, also: Sequence[str], files: OutputFiles) -> None:
    """Print how far a corpus's schema variants are from it, or write it as JSON."""
    with waiting("comparing schemas"):
        variants = measure_variants(name, also)
    files.show(variants, [_table(variants)], notes=variants.notes)


def _table(variants: SchemaVariants) -> Table:
    """A row a version, the paper's number in brackets beside ours."""
    paper = variants.paper
    original: dict[str, float] = next((printed["original"] for printed in paper.values() if "original" in printed), {})
    rows = [_row("original", variants.versions["original"], original)]
    for group, names in variants.groups.items():
        printed = paper.get(group, {})
        # A single back-translation stands beside the paper's average of three.
        alone = printed.get("average", {}) if len(names) == 1 else {}
        for name in names:
            rows.append(_row(name, variants.versions[name], printed.get(name.rpartition("/")[2], alone)))
        if group in variants.averages:
            rows.append(_row(f"{group}, average", variants.averages[group], printed.get("average", {})))
    beside = "In brackets, the paper. " if paper else ""
    caption = (
        f"{variants.services} services with {variants.slot_names} slot and {variants.intent_names} intent names; "
        f"{len(variants.unseen_services)} services of test are not in train. "
        f"{beside}BLEU of descriptions: {variants.bleu}"
    )
    return Table([variants.name, *(f"#{head}" for head, _ in _COLUMNS.values())], rows, caption)


def _row(name: str, figures: Figures, printed: dict[str, float]) -> list[str]:
    cells = [name]
    for field, (_, form) in _COLUMNS.items():
        value, papers = getattr(figures, field), printed.get(field)
        # The paper prints distances with two decimals; ours have three, as one of them lies on the edge between two.
        beside = "" if papers is None else f" ({form.replace('.3f', '.2f').format(papers)})"
        cells.append("-" if value is None else form.format(value) + beside)
    return cells
