"""`dstress corpora list|add|show|check|remove|variants|compare|few-shot`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from dstress import corpora
from dstress.cli.few_shot import command as few_shot_command
from dstress.cli.few_shot import print_selections
from dstress.cli.output import console, json_option, make_table, write_json
from dstress.cli.progress import counting, downloading
from dstress.corpora import store
from dstress.corpora.base import Corpus
from dstress.corpora.catalogue import CatalogueEntry, catalogue
from dstress.corpora.counts import SplitCounts, count_split, unseen_services
from dstress.corpora.split_names import canonical_split
from dstress.corpora.store import Manifest
from dstress.dialogue import Dialogue
from dstress.errors import CorpusError, DstressError, unknown
from dstress.storage.home import home
from dstress.storage.sources import open_source

_TOP_VALUES = 4


def complete_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Corpus names for the shell."""
    return [name for name in (*store.stored_names(), corpora.EMBEDDED) if name.startswith(incomplete)]


@click.group("corpora")
def command() -> None:
    """Add, list, show and check corpora.

    \b
    Examples
      dstress corpora list
      dstress corpora add multiwoz21 MultiWOZ_2.1.zip
      dstress corpora add sgd                        (downloads it from the catalogue's address)
      dstress corpora show reminder
    """


command.add_command(few_shot_command)


@command.command("list")
@json_option
def list_command(json_file: str | None) -> None:
    """List what is in the data home, and what the catalogue knows."""
    list_corpora(json_file)


def list_corpora(json_file: str | None) -> None:
    """The corpora that are there and those that could be."""
    stored: dict[str, Manifest] = {}
    damaged: dict[str, str] = {}
    for name in store.stored_names():
        try:
            stored[name] = store.require_manifest(name)
        except CorpusError as error:
            damaged[name] = str(error)
    available = {name: entry for name, entry in catalogue().items() if name not in stored.keys() | damaged.keys()}
    if json_file:
        described = {
            name: {"title": entry.title, "url": entry.url, "licence": entry.licence}
            for name, entry in available.items()
        }
        counts = {name: _counts(manifest) for name, manifest in stored.items()}
        write_json({"corpora": counts, "damaged": damaged, "catalogue": described}, json_file)
        return
    here = make_table("corpus", "splits", "#dialogues", "#user turns", "from")
    for name, manifest in stored.items():
        splits = manifest.splits.values()
        dialogues, turns = sum(split.dialogues for split in splits), sum(split.turns for split in splits)
        origin = f"renamed from {manifest.derived_from}" if manifest.derived_from else manifest.source
        origin = "embedded" if name == corpora.EMBEDDED else origin
        here.add_row(name, ", ".join(manifest.splits), f"{dialogues:,}", f"{turns:,}", escape(origin))
    if corpora.EMBEDDED not in stored.keys() | damaged.keys():
        here.add_row(corpora.EMBEDDED, "train, dev, test", "900", "", "embedded, generated at first use")
    console().print(here)
    for problem in damaged.values():
        console().print(problem, markup=False)
    more = make_table("not yet here", "what it is", "licence")
    for name, entry in available.items():
        more.add_row(name, entry.title, entry.licence)
    console().print("\nAdd one with `dstress corpora add NAME [PATH_OR_URL]`:", more)


def _counts(manifest: Manifest) -> dict[str, Any]:
    counts = {
        name: {"dialogues": split.dialogues, "turns": split.turns, "frames": split.frames}
        for name, split in manifest.splits.items()
    }
    return {"splits": counts, "source": manifest.source}


@command.command("add")
@click.argument("name")
@click.argument("sources", nargs=-1, metavar="[PATH_OR_URL]...")
@click.option(
    "--language", default="", metavar="CODE", help="what it is written in (de, zh), if its layout does not say"
)
@json_option
def add_command(name: str, sources: tuple[str, ...], language: str, json_file: str | None) -> None:
    """Import a corpus from a zip, a tar, a folder or a web address.

    The layout is found by itself. A split that is new joins a corpus that is there; one that would change is refused.

    \b
    Examples
      dstress corpora add multiwoz21 MultiWOZ_2.1.zip
      dstress corpora add sgd ~/dstc8-schema-guided-dialogue
      dstress corpora add sgd-x ~/dstc8-schema-guided-dialogue/sgd_x
      dstress corpora add mine train.jsonl dev.jsonl test.jsonl schema.json
    """
    entry = catalogue().get(name)
    if not sources and entry is None:
        raise unknown("corpus of the catalogue", name, catalogue(), fix="give a path or an address to import from")
    paths = [_fetch(source, entry) for source in sources or (entry.url if entry else "",)]
    within = entry.within if entry and not sources else ""
    with counting("dialogues") as on_progress:
        added = corpora.add(name, *paths, progress=on_progress, within=within, language=language)
    if json_file:
        write_json({manifest.name: _counts(manifest) for manifest in added}, json_file)
        return
    for manifest in added:
        shown = make_table(manifest.name, "#dialogues", "#user turns", "#frames", "published")
        for split, counts in manifest.splits.items():
            published = _published(entry, split, counts.dialogues)
            shown.add_row(split, f"{counts.dialogues:,}", f"{counts.turns:,}", f"{counts.frames:,}", published)
        console().print(shown)


def _fetch(source: str, entry: CatalogueEntry | None) -> str:
    if not corpora.is_address(source):
        return source
    from dstress.corpora.download import download

    git, sha256 = (entry.git, entry.sha256) if entry and source == entry.url else ("", "")
    with downloading(source) as on_progress:
        return str(download(source, home() / "downloads", git=git, sha256=sha256, progress=on_progress))


def _published(entry: CatalogueEntry | None, split: str, dialogues: int) -> str:
    """How the count compares with the literature."""
    expected = entry.dialogues.get(canonical_split(split)) if entry else None
    if expected is None:
        return ""
    return "the same" if expected == dialogues else f"{expected:,} dialogues"


@command.command("show")
@click.argument("name", shell_complete=complete_names)
@click.option("--dialogue", default="", metavar="ID", help="show this dialogue instead of a sample")
@click.option("--variants", is_flag=True, help="show how far the schema's variants are from it instead")
@click.option("--also", multiple=True, metavar="STRESSOR", help="with --variants: also the schema that this one makes")
@json_option
def show_command(name: str, dialogue: str, variants: bool, also: tuple[str, ...], json_file: str | None) -> None:
    """Show a corpus: splits, services, slots, values and a sample dialogue. NAME may be NAME:SPLIT.

    \b
    Examples
      dstress corpora show reminder
      dstress corpora show multiwoz21:test --dialogue SNG0073
      dstress corpora show sgd --json
      dstress corpora show sgd --variants            (table 1 of SGD-X)
      dstress corpora show reminder --variants --also schema_noise --also schema_variant
    """
    if also and not variants:
        raise click.UsageError("--also goes with --variants")
    if variants:
        from dstress.cli.schemas import show_variants

        show_variants(name, also, json_file)
        return
    if json_file:
        opened = corpora.load_splits(name)
        write_json(_facts(name.partition(":")[0], opened, _count(opened, dialogue)), json_file)
        return
    print_corpus(name, dialogue)


def print_corpus(name: str, dialogue: str = "") -> None:
    """Print a corpus as `dstress corpora show` does: splits, slots, and a dialogue, by default any."""
    opened = corpora.load_splits(name)
    counted = _count(opened, dialogue)
    _show_splits(name, opened, counted)
    print_selections([store.require_manifest(name.partition(":")[0])])
    last = list(opened)[-1]
    _show_slots(last, counted[last])
    sample = next((c.sample for c in reversed(counted.values()) if c.sample and dialogue in ("", c.sample.id)), None)
    if sample is None:
        raise CorpusError(f"no dialogue {dialogue!r} in {name}", fix="ids are as the corpus writes them, without .json")
    _show_dialogue(sample)


def _count(opened: dict[str, Corpus], dialogue: str) -> dict[str, SplitCounts]:
    counted = {}
    with counting("splits") as on_progress:
        for index, (split, corpus) in enumerate(opened.items()):
            on_progress(f"counting {split}", index)
            counted[split] = count_split(corpus, dialogue)
    return counted


def _facts(name: str, opened: dict[str, Corpus], counted: dict[str, SplitCounts]) -> dict[str, Any]:
    services = {service.name: None for corpus in opened.values() for service in corpus.schema.services}
    slots = {slot: None for corpus in opened.values() for slot in corpus.schema.slots}
    splits = {
        split: {
            "dialogues": c.dialogues,
            "turns": c.turns,
            "frames": c.frames,
            "services": len(opened[split].schema.services),
            "unseen_services": _unseen(opened, split),
            "language": opened[split].language,
            "coreferences": c.coreferences,
            "out_of_domain": c.out_of_domain,
        }
        for split, c in counted.items()
    }
    values: dict[str, dict[str, int]] = {}
    for split, c in counted.items():
        for slot, seen in c.values.items():
            values.setdefault(slot, {})[split] = len(seen)
    facts = {"name": name, "splits": splits, "services": len(services), "slots": len(slots), "values": values}
    selection = store.require_manifest(name).selection
    return facts | ({"selection": selection} if selection else {})


def _unseen(opened: dict[str, Corpus], split: str) -> int:
    train = next((corpus for name, corpus in opened.items() if canonical_split(name) == "train"), None)
    return len(unseen_services(opened[split], train)) if train else 0


def _show_splits(name: str, opened: dict[str, Corpus], counted: dict[str, SplitCounts]) -> None:
    has_train = any(canonical_split(split) == "train" for split in opened)
    shown = make_table(
        name, "#dialogues", "#user turns", "#frames", "#services", "#slots", "#unseen services", "language"
    )
    for split, c in counted.items():
        schema = opened[split].schema
        unseen = str(_unseen(opened, split)) if has_train else "-"
        numbers = (f"{n:,}" for n in (c.dialogues, c.turns, c.frames, len(schema.services), len(schema.slots)))
        shown.add_row(split, *numbers, unseen, opened[split].language)
    console().print(shown)


def _show_slots(split: str, counts: SplitCounts) -> None:
    shown = make_table("slot", "#values", "#updates", f"most frequent in {split}")
    for slot, seen in counts.values.items():
        top = ", ".join(f"{value} ({times:,})" for value, times in list(seen.items())[:_TOP_VALUES])
        shown.add_row(escape(slot), f"{len(seen):,}", f"{sum(seen.values()):,}", escape(top))
    console().print("", shown)


def _show_dialogue(dialogue: Dialogue) -> None:
    out = console()
    out.print(f"\n[bold]{escape(dialogue.id)}[/bold]  {escape(', '.join(dialogue.services))}")
    for turn, changed in zip(dialogue.turns, dialogue.updates(), strict=True):
        if turn.system:
            out.print(f"  [cyan]system[/cyan]  {escape(turn.system)}")
        mark = "  [yellow](out of domain)[/yellow]" if turn.ood else ""
        out.print(f"  [green]user[/green]    {escape(turn.user)}{mark}")
        for slot, forms in changed.items():
            value = " | ".join(forms) if forms else "(dropped)"
            out.print(f"          [dim]{escape(slot)} = {escape(value)}[/dim]")


@command.command("check")
@click.argument("name", shell_complete=complete_names)
@json_option
def check_command(name: str, json_file: str | None) -> None:
    """Check a corpus that is there: files against their checksums, every dialogue against its schema, splits for leaks.

    \b
    Example
      dstress corpora check multiwoz21
    """
    from dstress.corpora.audit import audit_corpus

    opened = corpora.load_splits(name)
    findings = audit_corpus(name.partition(":")[0], opened)
    if json_file:
        write_json(findings, json_file)
        return
    out = console()
    out.print(f"{name}: every file is as it was imported, every dialogue fits its schema")
    for note in findings["notes"]:
        out.print(f"  note: {escape(note)}")


@command.command("remove")
@click.argument("name", shell_complete=complete_names)
def remove_command(name: str) -> None:
    """Take a corpus out of the data home."""
    store.remove(name)
    click.echo(f"removed {name}")


@command.command("variants")
@click.argument("sgd", type=click.Path(exists=True, path_type=Path))
@click.argument("sgdx", type=click.Path(exists=True, path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="folder for v1/ to v5/")
def variants_command(sgd: Path, sgdx: Path, out: Path) -> None:
    """Write SGD-X dialogue files from SGD and the variant schemas, as the official generator writes them.

    \b
    Example
      dstress corpora variants dstc8-schema-guided-dialogue dstc8-schema-guided-dialogue/sgd_x --out sgd-x
    """
    from dstress.corpora.sgdx import write_variants

    written = 0
    with counting("files") as on_progress, open_source(sgd) as source, open_source(sgdx) as schemas:
        for written, path in enumerate(write_variants(source, schemas, out), start=1):
            on_progress(path.parent.parent.name, written)
    if not written:
        raise DstressError(
            "no dialogue files were found", where=str(sgd), fix="give the folder with train, dev and test"
        )
    click.echo(f"{written} files in {out}")


@command.command("compare")
@click.argument("first", shell_complete=complete_names)
@click.argument("second", shell_complete=complete_names)
@click.option("--most", default=40, show_default=True, help="rows of label differences to show")
@json_option
def compare_command(first: str, second: str, most: int, json_file: str | None) -> None:
    """Compare the labels of two copies of a corpus, such as two versions of MultiWOZ.

    \b
    Example
      dstress corpora compare multiwoz21:test multiwoz24:test
    """
    from dstress.corpora.difference import compare_corpora

    differences = compare_corpora(corpora.load(first), corpora.load(second))
    if json_file:
        write_json(differences, json_file)
        return
    out = console()
    turns = f"{differences.turns_that_differ:,} of {differences.turns:,} turns have other labels"
    out.print(f"{differences.dialogues:,} shared dialogues; {turns}")
    for name, ids in ((first, differences.only_first), (second, differences.only_second)):
        if ids:
            out.print(f"only in {name}: {', '.join(ids[:10])}{' ...' if len(ids) > 10 else ''}")
    if differences.other_length:
        out.print(f"another number of turns: {', '.join(differences.other_length[:10])}")
    shown = make_table("#turns", "slot", escape(first), escape(second), "for example")
    for row in differences.labels[:most]:
        shown.add_row(f"{row.turns:,}", row.slot, escape(row.first or "-"), escape(row.second or "-"), row.example)
    out.print("", shown)
    if len(differences.labels) > most:
        out.print(f"... and {len(differences.labels) - most:,} more; --most {len(differences.labels)} shows all")
