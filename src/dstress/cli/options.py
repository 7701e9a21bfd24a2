"""Options: how a verb says which it takes, and those that several verbs share, each defined once.

An option is the default of a parameter of the function that does the work, which also names it: with
`max_drop: float = option(default=1.0)` a verb takes `--max-drop`.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import click

from dstress.cli.names import CONVENTION, CORPUS, FORMAT

SEEDS = click.IntRange(0, 2**63 - 1)
COUNTS = click.IntRange(0, 2**31 - 1)
"""Numbers of dialogues or turns; 0 is all."""
PATH, EXISTING = click.Path(path_type=Path), click.Path(exists=True, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)

Decorator = Callable[[Any], Any]


class Declared(NamedTuple):
    """What stands as the default of a parameter: the decorator by which click fills it, made of its name."""

    decorator: Callable[[str], Decorator]


def option(*names: str, **settings: Any) -> Any:
    """Declare an option, by default `--` and the parameter's name; the help shows a default that says something."""
    settings.setdefault("show_default", bool(settings.get("default")))
    return Declared(lambda name: click.option(*(names or [f"--{name.replace('_', '-')}"]), name, **settings))


def argument(**settings: Any) -> Any:
    """Declare an argument."""
    return Declared(lambda name: click.argument(name, **settings))


def takes_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let click fill the parameters whose defaults declare options or arguments."""
    for name, parameter in reversed(list(signature(command).parameters.items())):
        if isinstance(parameter.default, Declared):
            command = parameter.default.decorator(name)(command)
    return command


def verb(name: str, group: click.Group | None = None) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a verb, or one of a group, of a function whose parameters declare what it takes."""
    return lambda function: (group or click).command(name)(takes_options(function))


class FiniteRange(click.FloatRange):
    """A range without "not a number", which is neither above nor below anything."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        return self.fail(f"{value!r} is not a number", param, ctx) if number != number else number


gold_option = option(
    type=CORPUS, metavar="CORPUS:SPLIT", help="what to score against; default: the gold labels in the file"
)
convention_option = option(
    type=CONVENTION, default="", help="what counts as correct; default: that of the format's official script"
)


def _add_columns(context: click.Context, parameter: click.Parameter, columns: str) -> None:
    """Put `--map` into the format: `--map turn=index` is `--format "flat(turn=index)"`."""
    if columns:
        name, _, arguments = context.params["format_"].partition("(")
        arguments = ", ".join(filter(None, (arguments.rstrip(") "), columns)))
        context.params["format_"] = f"{name or 'flat'}({arguments})"


def _format_and_map(name: str) -> Decorator:
    format_help = "format of the file; default: detected from its content"
    of_format = click.option("--format", name, type=FORMAT, default="", is_eager=True, help=format_help)
    of_columns = click.option(
        "--map",
        default="",
        metavar="dialogue=A,turn=B,state=C",
        callback=_add_columns,
        expose_value=False,
        help="names of the columns or keys in the file",
    )
    return lambda command: of_format(of_columns(command))


format_option: Any = Declared(_format_and_map)
"""`--format` and `--map`: both become the one parameter."""
limit_option = option(type=COUNTS, default=0, metavar="N", help="only the first N dialogues")
draw_option = option(type=COUNTS, default=0, metavar="N", help="only N dialogues, sampled with the seed")
meanings_option = option(is_flag=True, help="measure the similarity of rephrased turns (extra `encoder`)")
plots_option = option(
    "--plots",
    metavar="DIR",
    type=click.Path(file_okay=False, writable=True, path_type=Path),
    help="write every plot as SVG, PNG, PDF and Vega-Lite",
)
token_option = option(
    envvar="DSTRESS_TOKEN", default="", help="your token; better in DSTRESS_TOKEN, where nobody sees it"
)


def seed_option(default: int = 1, of: str = "seed of all randomness") -> Any:
    """`--seed`; `of` says what it is the seed of."""
    return option(type=SEEDS, default=default, help=of)


def resamples_option(default: int = 1000, least: int = 0) -> Any:
    """`--resamples`."""
    return option(type=click.IntRange(least), default=default, help="bootstrap resamples, for intervals that need them")


def max_failed_option(default: float) -> Any:
    """`--max-failed`, in percent."""
    return option(type=FiniteRange(0, 100), default=default, help="largest percentage of turns without a prediction")
