"""`dstress cite [RUN]...`."""

from __future__ import annotations

from pathlib import Path

import click

from dstress.cli.options import PATH, argument, verb
from dstress.cli.output import OutputFiles, json_option, printable
from dstress.runs.citations import citations, corpus_citations
from dstress.runs.folder import RunFolder


@verb("cite")
def command(
    run_folders: tuple[Path, ...] = argument(nargs=-1, metavar="[RUN]...", type=PATH),
    files: OutputFiles = json_option,
) -> None:
    """BibTeX of dstress and of the papers that a RUN is based on, with what it used of each.

    Without a RUN, of all papers that dstress implements. Corpora that the catalogue knows are named in a comment.

    \b
    Examples
      dstress cite
      dstress cite runs/mine >> references.bib
      dstress cite runs/mine runs/theirs --json
    """
    runs = [RunFolder.open(folder, checked=False).manifest for folder in run_folders]
    entries, corpora = citations(runs), corpus_citations(runs)
    if files.write({"entries": entries, "corpora": corpora}):
        return
    remarks = [f"% the corpus {corpus}\n" for corpus in corpora]
    click.echo(printable("\n".join([*map(str, entries), *remarks])), nl=False)
