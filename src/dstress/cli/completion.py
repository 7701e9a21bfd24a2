"""`dstress completion SHELL`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from dstress.cli.main import cli
from dstress.cli.options import argument, verb

_FILES = {"bash": "~/.bashrc", "zsh": "~/.zshrc", "fish": "~/.config/fish/completions/dstress.fish"}


@verb("completion")
def command(shell: str = argument(type=click.Choice(list(_FILES)))) -> None:
    """Print a script that completes verbs, options and names in SHELL.

    Names are those of suites, trackers, stressors, conventions, metrics, formats, engines, slices and corpora with
    their splits, plug-ins among them; in a list (jga,aga) and a composition (typos+entities) the last one.

    \b
    Examples
      dstress completion bash >> ~/.bashrc
      dstress completion zsh >> ~/.zshrc
      dstress completion fish > ~/.config/fish/completions/dstress.fish
    """
    completion = get_completion_class(shell)
    if completion is None:
        raise click.UsageError(f"no completion for {shell}")
    if shell == "bash":
        # Else bash takes `reminder:te` for three words, and no split is ever completed.
        click.echo("COMP_WORDBREAKS=${COMP_WORDBREAKS//:}")
    click.echo(completion(cli, {}, "dstress", "_DSTRESS_COMPLETE").source())
