"""`dstress corpora list|add|show|check|remove|variants|compare|few-shot`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from dstress import corpora
from dstress.cli.few_shot import command as few_shot_command
from dstress.cli.few_shot import print_selections
from dstress.cli.names import CORPUS, STRESSOR
from dstress.cli.options import EXISTING, PATH, argument, option, verb
from dstress.cli.output import OutputFiles, console, json_option, make_table
from dstress.cli.progress import counting, downloading
from dstress.corpora import reminder, store
from dstress.corpora.audit import SplitCounts, audit_corpus, count_split
from dstress.corpora.base import Corpus
from dstress.corpora.catalogue import CatalogueEntry, catalogue
from dstress.corpora.simple import Simple
from dstress.corpora.split_names import canonical_split
from dstress.corpora.store import Manifest
from dstress.dialogue import Dialogue
from dstress.errors import CorpusError, DstressError, unknown
from dstress.reports.tables import Table
from dstress.storage.home import home
from dstress.storage.sources import open_source

_TOP_VALUES = 4


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


@verb("list", command)
def list_command(files: OutputFiles = json_option) -> None:
    """List the imported corpora and those that the catalogue can download."""
    list_corpora(files)


def list_corpora(files: OutputFiles) -> None:
    """The corpora that are there and those that could be."""
    stored: dict[str, Manifest] = {}
    damaged: dict[str, str] = {}
    for name in store.stored_names():
        try:
            stored[name] = store.require_manifest(name)
        except CorpusError as error:
            damaged[name] = str(error)
    available = {name: entry for name, entry in catalogue().items() if name not in stored.keys() | damaged.keys()}
    described = {
        name: {"title": entry.title, "url": entry.url, "licence": entry.licence} for name, entry in available.items()
    }
    stored_counts = {name: _counts(manifest) for name, manifest in stored.items()}
    if files.write({"corpora": stored_counts, "damaged": damaged, "catalogue": described}):
        return
    rows = []
    for name, manifest in stored.items():
        splits = manifest.splits.values()
        dialogues, turns = sum(split.dialogues for split in splits), sum(split.turns for split in splits)
        origin = f"renamed from {manifest.derived_from}" if manifest.derived_from else manifest.source
        origin = "embedded" if name == corpora.EMBEDDED else origin
        rows.append((name, ", ".join(manifest.splits), f"{dialogues:,}", f"{turns:,}", origin))
    if corpora.EMBEDDED not in stored.keys() | damaged.keys():
        counts = (", ".join(reminder.SIZES), f"{sum(reminder.SIZES.values()):,}", "")
        rows.append((corpora.EMBEDDED, *counts, "embedded, unpacked at first use"))
    console().print(make_table(("corpus", "splits", "#dialogues", "#user turns", "from"), rows))
    for problem in damaged.values():
        console().print(problem, markup=False)
    more = [(name, entry.title, entry.licence) for name, entry in available.items()]
    console().print("\nAdd one with `dstress corpora add NAME [PATH_OR_URL]`:")
    console().print(make_table(("not yet here", "what it is", "licence"), more))


def _counts(manifest: Manifest) -> dict[str, Any]:
    counts = {
        name: {"dialogues": split.dialogues, "turns": split.turns, "frames": split.frames}
        for name, split in manifest.splits.items()
    }
    return {"splits": counts, "source": manifest.source}


@verb("add", command)
def add_command(
    name: str = argument(type=CORPUS),
    sources: tuple[str, ...] = argument(nargs=-1, metavar="[PATH_OR_URL]..."),
    language: str = option(
        default="", metavar="CODE", help="language of the corpus (de, zh), if its layout does not say"
    ),
    files: OutputFiles = json_option,
) -> None:
    """Import a corpus from a zip, a tar, a folder or a web address.

    The layout is detected. New splits are added to an existing corpus; changing an existing split is an error.

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
    tables = []
    for manifest in added:
        rows = []
        for split, counts in manifest.splits.items():
            published = ""  # how the count compares with the literature
            if entry and (expected := entry.dialogues.get(canonical_split(split))) is not None:
                published = "the same" if expected == counts.dialogues else f"{expected:,} dialogues"
            rows.append((split, f"{counts.dialogues:,}", f"{counts.turns:,}", f"{counts.frames:,}", published))
        tables.append(Table((manifest.name, "#dialogues", "#user turns", "#frames", "published"), rows))
    is_shown = files.show({manifest.name: _counts(manifest) for manifest in added}, tables)
    for manifest in added if is_shown else ():
        if any(split.layout == Simple.name for split in manifest.splits.values()):
            console().print("This is what was understood. `a + b`: both are wanted; `a | b`: either is accepted.\n")
            print_corpus(manifest.name)


def _fetch(source: str, entry: CatalogueEntry | None) -> str:
    if not corpora.is_address(source):
        return source
    from dstress.corpora.download import download

    git, sha256 = (entry.git, entry.sha256) if entry and source == entry.url else ("", "")
    with downloading(source) as on_progress:
        return str(download(source, home() / "downloads", git=git, sha256=sha256, progress=on_progress))


@verb("show", command)
def show_command(
    name: str = argument(type=CORPUS),
    dialogue: str = option(default="", metavar="ID", help="show this dialogue instead of a sample"),
    variants: bool = option(is_flag=True, help="show the distance of the schema's variants instead"),
    also: tuple[str, ...] = option(
        type=STRESSOR,
        multiple=True,
        metavar="STRESSOR",
        help="with --variants: also the schema that this stressor makes",
    ),
    files: OutputFiles = json_option,
) -> None:
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

        show_variants(name, also, files)
        return
    if files.json:
        opened = corpora.load_splits(name)
        files.write(_facts(name.partition(":")[0], opened, _count(opened, dialogue)))
    else:
        print_corpus(name, dialogue)


def print_corpus(name: str, dialogue: str = "") -> None:
    """Print a corpus as `dstress corpora show` does: splits, slots, and a dialogue, by default any."""
    opened = corpora.load_splits(name)
    counted = _count(opened, dialogue)
    out = console()
    has_train = any(canonical_split(split) == "train" for split in opened)
    rows = []
    for split, c in counted.items():
        schema = opened[split].schema
        numbers = (f"{n:,}" for n in (c.dialogues, c.turns, c.frames, len(schema.services), len(schema.slots)))
        unseen = str(_unseen(opened, split)) if has_train else "-"
        rows.append((split, *numbers, unseen, opened[split].language))
    numbered = ("#dialogues", "#user turns", "#frames", "#services", "#slots", "#unseen services")
    out.print(make_table((name, *numbered, "language"), rows))
    print_selections([store.require_manifest(name.partition(":")[0])])

    last = list(opened)[-1]
    rows = []
    for slot, seen in counted[last].values.items():
        top = ", ".join(f"{value} ({times:,})" for value, times in list(seen.items())[:_TOP_VALUES])
        rows.append((slot, f"{len(seen):,}", f"{sum(seen.values()):,}", top))
    out.print("", make_table(("slot", "#values", "#updates", f"most frequent in {last}"), rows))

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
    return len(opened[split].schema.by_name.keys() - train.schema.by_name.keys()) if train else 0


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


@verb("check", command)
def check_command(name: str = argument(type=CORPUS), files: OutputFiles = json_option) -> None:
    """Check an imported corpus: files against checksums, dialogues against the schema, splits for leaks.

    \b
    Example
      dstress corpora check multiwoz21
    """
    opened = corpora.load_splits(name)
    findings = audit_corpus(name.partition(":")[0], opened)
    remark = f"{name}: every file is as it was imported, every dialogue fits its schema"
    files.show(findings, (), [remark], notes=findings["notes"])


@verb("remove", command)
def remove_command(name: str = argument(type=CORPUS)) -> None:
    """Remove a corpus from the data home."""
    store.remove(name)
    click.echo(f"removed {name}")


@verb("variants", command)
def variants_command(
    sgd: Path = argument(type=EXISTING),
    sgdx: Path = argument(type=EXISTING),
    out: Path = option(required=True, type=PATH, help="folder for v1/ to v5/"),
) -> None:
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


@verb("compare", command)
def compare_command(
    first: str = argument(type=CORPUS),
    second: str = argument(type=CORPUS),
    most: int = option(default=40, help="rows of label differences to show"),
    files: OutputFiles = json_option,
) -> None:
    """Compare the labels of two copies of a corpus, such as two versions of MultiWOZ.

    \b
    Example
      dstress corpora compare multiwoz21:test multiwoz24:test
    """
    from dstress.corpora.difference import compare_corpora

    differences = compare_corpora(corpora.load(first), corpora.load(second))
    if files.write(differences):
        return
    out = console()
    turns = f"{differences.turns_that_differ:,} of {differences.turns:,} turns have other labels"
    out.print(f"{differences.dialogues:,} shared dialogues; {turns}")
    for name, ids in ((first, differences.only_first), (second, differences.only_second)):
        if ids:
            out.print(f"only in {name}: {', '.join(ids[:10])}{' ...' if len(ids) > 10 else ''}")
    if differences.other_length:
        out.print(f"another number of turns: {', '.join(differences.other_length[:10])}")
    rows = [
        (f"{label.turns:,}", label.slot, label.first or "-", label.second or "-", label.example)
        for label in differences.labels[:most]
    ]
    out.print("", make_table(("#turns", "slot", first, second, "for example"), rows))
    if len(differences.labels) > most:
        out.print(f"... and {len(differences.labels) - most:,} more; --most {len(differences.labels)} shows all")
