"""`dstress corpora few-shot`."""

from __future__ import annotations

from collections.abc import Iterable

import click

from dstress.cli.names import CORPUS
from dstress.cli.options import argument, option, seed_option, verb
from dstress.cli.output import OutputFiles, console, json_option, print_notes
from dstress.cli.progress import waiting
from dstress.corpora import few_shot
from dstress.corpora.few_shot import DEV, MOST_DRAWS, TEST, TRAIN, Pool
from dstress.corpora.store import Manifest
from dstress.errors import CorpusError
from dstress.reports.tables import Table


@verb("few-shot")
def command(
    corpus: str = argument(type=CORPUS),
    domains: str = option(default="", metavar="A,B", help="single-domain dialogues of these domains, from all splits"),
    leave_one_out: bool = option(is_flag=True, help="one task per domain, with that domain left out of training"),
    train: str = option(default="", metavar="N[%]|N,N", help="training dialogues; of each domain with --domains"),
    dev: str = option(default="", metavar="N[%]|N,N", help="the same for dev"),
    test: str = option(default="", metavar="N[%]|N,N", help="the same for test"),
    shots: str = option(default="0", metavar="N[%]", help="with --leave-one-out: dialogues of the domain left out"),
    draws: int = option(type=click.IntRange(1, MOST_DRAWS), default=1, help="number of tasks to draw"),
    seed: int = seed_option(of="seed of the first draw; the next count up"),
    name: str = option(default="", metavar="NAME", help="name of the new corpus; default: CORPUS-few-shot"),
    files: OutputFiles = json_option,
) -> None:
    """Draw a few-shot task from a corpus. The result is a corpus, stored with its rule and dialogue ids.

    --domains draws dialogues of a single domain (RADDLE, CheckDST). --leave-one-out leaves a domain out of training and
    tests on it (NAME/DOMAIN). With neither, training dialogues of any domain are drawn. --draws 5 makes NAME/d1 to
    NAME/d5; `dstress score` reports their mean and spread.

    \b
    Examples
      dstress corpora few-shot multiwoz21 --domains attraction,train,hotel,restaurant --train 50 --test 100,200,200,200
      dstress corpora few-shot multiwoz21 --domains taxi,hotel --train 50 --dev 50 --test 200 --draws 5
      dstress corpora few-shot multiwoz21 --leave-one-out --shots 5% --draws 5
      dstress corpora few-shot reminder --train 50
    """
    chosen = list(dict.fromkeys(domain.strip() for domain in domains.split(",") if domain.strip()))
    if leave_one_out and (train or dev):
        raise click.UsageError("--leave-one-out trains on all that is left; --shots are those of the domain left out")
    if shots != "0" and not leave_one_out:
        raise click.UsageError("--shots goes with --leave-one-out; --train has the number otherwise")
    if leave_one_out and draws > 1 and shots == "0":
        raise click.UsageError("without --shots there is nothing to draw")
    if not leave_one_out and not (train and (test or not chosen)):
        raise click.UsageError("give --train, and with --domains also --test")
    name = name or f"{corpus.replace('/', '-')}-{'leave-one-out' if leave_one_out else 'few-shot'}"
    sizes = {split: size for split, size in ((TRAIN, train), (DEV, dev), (TEST, test)) if size}
    each = {split: _each(split, size, len(chosen)) for split, size in sizes.items()} if chosen else {}
    with waiting("drawing"):
        pool = Pool(corpus, seed)
        if leave_one_out:
            made = [
                few_shot.store_left_out(pool, f"{name}/{domain}", domain, shots, test, draws)
                for domain in chosen or pool.transferable()
            ]
        else:
            made = []
            for draw in range(draws):
                pool.reseed(seed + draw)
                drawn = f"{name}/d{draw + 1}" if draws > 1 else name
                if chosen:
                    made.append(few_shot.store_single_domain(pool, drawn, chosen, each))
                else:
                    made.append(few_shot.store_k_shot(pool, drawn, sizes))
    rows = [
        (manifest.name, split, f"{counts.dialogues:,}", f"{counts.turns:,}")
        for manifest in made
        for split, counts in manifest.splits.items()
    ]
    table = Table(("corpus", "split", "#dialogues", "#user turns"), rows)
    if files.show({manifest.name: manifest.selection for manifest in made}, [table]):
        print_selections(made)


def _each(split: str, text: str, domains: int) -> list[int]:
    """`50`, for all domains, or `100,200,200`, one for each."""
    numbers = [number.strip() for number in text.split(",")]
    if not all(number.isascii() and number.isdigit() for number in numbers):
        raise CorpusError(f"--{split} {text} is no list of sizes", fix="write 50, or 100,200,200: one for each domain")
    if len(numbers) not in (1, domains):
        raise CorpusError(
            f"--{split} {text} has {len(numbers)} sizes for {domains} domains", fix="give one, or one each"
        )
    return [int(number) for number in numbers] * (domains if len(numbers) == 1 else 1)


def print_selections(manifests: Iterable[Manifest]) -> None:
    """The rules by which corpora were drawn, and what these could not give."""
    drawn = [manifest.selection for manifest in manifests if manifest.selection]
    for rule in dict.fromkeys(selection.rule for selection in drawn):
        console().print(f"rule: {rule}", markup=False)
    print_notes(dict.fromkeys(note for selection in drawn for note in selection.notes))
