"""`dstress cite [RUN]...`."""

from __future__ import annotations

from pathlib import Path

import click

from dstress.cli.output import json_option, printable, write_json
from dstress.runs.citations import citations, corpus_citations
from dstress.runs.folder import RunFolder


@click.command("cite")
@click.argument("run_folders", nargs=-1, metavar="[RUN]...", type=click.Path(path_type=Path))
@json_option
def command(run_folders: tuple[Path, ...], json_file: str | None) -> None:
    """BibTeX of dstress and of the papers that a RUN stands on, with what it used of each.

    Without a RUN, of all papers that dstress implements. Corpora that the catalogue knows are named in a comment.

    \b
    Examples
      dstress cite
      dstress cite runs/mine >> references.bib
      dstress cite runs/mine runs/theirs --json
    """
    runs = [RunFolder.open(folder).manifest for folder in run_folders]
    entries, corpora = citations(runs), corpus_citations(runs)
    if json_file:
        write_json({"entries": entries, "corpora": corpora}, json_file)
        return
    remarks = [f"% the corpus {corpus}\n" for corpus in corpora]
    click.echo(printable("\n".join([*map(str, entries), *remarks])), nl=False)
