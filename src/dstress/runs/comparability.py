"""Whether runs measure the same thing: `gate`, `compare` and curves over checkpoints ask here, and refuse if not."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import msgspec

from dstress.errors import DstressError
from dstress.runs.folder import ORIGINAL, RunFolder, Scores


class SharedVariants(NamedTuple):
    """The variants that all of some runs have, and those that only some of them have."""

    shared: list[str]
    left_out: list[str]


def require_comparable(runs: Sequence[RunFolder], *, any_convention: bool = False) -> SharedVariants:
    """The variants on which runs can be compared; raises where they differ in more than the tracker.

    A run over some of another's stressors (`--only`) can be compared with it on these. `any_convention` is for runs
    whose answers are scored anew, all under one.
    """
    first, scores = runs[0], [run.scores for run in runs]
    for run, scored in zip(runs, scores, strict=True):
        for variant, count in scored.unanswered.items():
            raise DstressError(
                f"the prediction file of {variant} has no answer to {count:,} turns, which would count as wrong",
                where=str(run.path),
                fix="add the answers and run again: only runs with all answers can be compared",
            )
    for run, scored in zip(runs[1:], scores[1:], strict=True):
        differences = [*_corpus(first, run, scores[0], scored), *_settings(first, run)]
        differences = differences or [*_data(first, run, scores[0], scored)]
        fix = "run both trackers with the same suite, corpus, seed and limit"
        before, after = scores[0].convention, scored.convention
        if before != after and not any_convention:
            if not differences:
                fix = f"`dstress rescore {shlex.quote(str(run.path))} --convention {shlex.quote(before)}`"
            differences.append(f"the convention, {before} and {after}")
        if differences:
            raise DstressError(
                f"the runs cannot be compared, since they differ in {'; '.join(differences)}",
                where=f"{first.path} and {run.path}",
                fix=fix,
            )
    shared = [variant for variant in first.variants if all(variant in run.variants for run in runs)]
    every = dict.fromkeys(variant for run in runs for variant in run.variants)
    return SharedVariants(shared, [variant for variant in every if variant not in shared])


def _corpus(first: RunFolder, second: RunFolder, before: Scores, after: Scores) -> Iterator[str]:
    """The same dialogues may have two names, and a name may mean two versions of a corpus."""
    data = [scores.variants[ORIGINAL].signature.get("data") for scores in (before, after)]
    names = [run.manifest.corpus for run in (first, second)]
    if data[0] != data[1] and names[0] != names[1]:
        yield f"the corpus, {' and '.join(names)}"


def _settings(first: RunFolder, second: RunFolder) -> Iterator[str]:
    for name in ("seed", "limit", "draw"):
        before, after = (getattr(run.manifest, name) or "none" for run in (first, second))
        if before != after:
            yield f"the {name}, {before} and {after}"
    only_first = [variant for variant in first.variants if variant not in second.variants]
    only_second = [variant for variant in second.variants if variant not in first.variants]
    if only_first and only_second:
        yield f"the stressors, {', '.join(only_first)} and {', '.join(only_second)}"


def _data(first: RunFolder, second: RunFolder, before: Scores, after: Scores) -> Iterator[str]:
    """Dialogues and schema as they were scored, whatever made them: the same spec may have done something else."""
    shared = [variant for variant in first.variants if variant in second.variants]
    data = ([scores.variants[variant].signature.get("data") for variant in shared] for scores in (before, after))
    other = [variant for variant, *contents in zip(shared, *data, strict=True) if contents[0] != contents[1]]
    if first.manifest.tools or second.manifest.tools:  # then tools are what is compared
        other = [variant for variant in other if not _same_but_for_tools(first, second, variant)]
    if other:
        yield f"the data of {', '.join(other)}, although both were made from {first.manifest.corpus}"


def _same_but_for_tools(first: RunFolder, second: RunFolder, variant: str) -> bool:
    bare = (
        (msgspec.structs.replace(dialogue, tools=()) for dialogue in run.variant(variant).dialogues())
        for run in (first, second)
    )
    return all(one == other for one, other in zip_longest(*bare))


def short_names(paths: Sequence[Path]) -> list[str]:
    """Files and folders by their names without endings; by their paths where two would be called the same."""
    meant = [path.resolve() for path in paths]
    if doubled := next((path for path in paths if meant.count(path.resolve()) > 1), None):
        raise DstressError(f"{doubled} is given twice", fix="give each of them once")
    short = [path.name.partition(".")[0] or str(path) for path in paths]
    return [name if short.count(name) == 1 else str(path) for name, path in zip(short, paths, strict=True)]
