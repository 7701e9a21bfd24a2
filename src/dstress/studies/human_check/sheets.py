"""People judge a stressor's turns: CoCo's human evaluation (Li et al. 2021, section 5.3, table 3).

Two questions with yes or no: is the user's utterance human-like (fluent, and at home in its dialogue), and does it
say, with the system's turn, exactly the goal of the turn? Judges see original and stressed turns in one shuffled
sheet; which is which is in a key that they do not get. The verdict on an item is the majority's.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec

from dstress.corpora import load
from dstress.dialogue import Dialogue, Turn, update
from dstress.errors import DstressError, unknown
from dstress.reports.rendering import hash_script, json_in_script
from dstress.resources import Reiterable
from dstress.runs.folder import ORIGINAL, RunFolder, is_run
from dstress.storage.atomic import replacing
from dstress.studies.human_check.questions import goal_in_words, questions
from dstress.studies.human_check.verdict import Verdict, judge, read_sheet

QUESTIONS = tuple(questions("data"))
COLUMNS = ("item", "history", "system", "user", "goal", *QUESTIONS)
_DESCRIPTION = "stress.json"
_FORMULA = ("=", "+", "-", "@")
"""A spreadsheet takes a cell that starts so for a formula."""


class Variant(NamedTuple):
    """A stressed corpus to take turns from."""

    name: str
    about: Mapping[str, Any]
    dialogues: Iterable[Dialogue]
    """They can be read more than once."""


class Item(msgspec.Struct, frozen=True):
    """One turn to be judged. `goal` is what the turn changes in the state, in words."""

    variant: str
    dialogue: str
    turn: int
    history: str
    system: str
    user: str
    goal: str


class Place(msgspec.Struct, frozen=True):
    """What an item of the sheet is; judges must not know it."""

    variant: str
    dialogue: str
    turn: int


class Key(msgspec.Struct, frozen=True):
    """What a sheet's items are, in the sheet's order, and where they came from."""

    source: str
    seed: int
    turns: int
    items: dict[str, Place]


def find_variants(folder: Path) -> list[Variant]:
    """The stressed corpora of a run, of a folder that `dstress stress` wrote, or of a folder of such folders."""
    if is_run(folder):
        run = RunFolder.open(folder)
        stressed = [name for name in run.variants if name != ORIGINAL and run.variant(name).path.is_file()]
        return [Variant(name, run.variant(name).quality, Reiterable(run.variant(name).dialogues)) for name in stressed]
    own = folder / _DESCRIPTION
    descriptions = [own] if own.is_file() else sorted(folder.glob(f"*/{_DESCRIPTION}"))
    if not descriptions:
        problem = "there is neither a run nor a stressed corpus"
        raise DstressError(problem, where=str(folder), fix="make one: `dstress stress CORPUS --with SPEC --out DIR`")
    variants = []
    for path in descriptions:
        about = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        variants.append(Variant(str(about.get("stressor", path.parent.name)), about, load(str(path.parent))))
    return variants


def choose_variants(variants: Sequence[Variant], names: Sequence[str]) -> list[Variant]:
    """The variants of these names; without names, those that rewrite single turns and labels, else single turns."""
    by_name = {variant.name: variant for variant in variants}
    for name in names:
        if name not in by_name:
            raise unknown("stressor of the run", name, by_name)
    if names:
        return [by_name[name] for name in names]
    of_turns = [variant for variant in variants if variant.about.get("scope") == "turn"]
    directional = [variant for variant in of_turns if variant.about.get("effect") == "directional"]
    if not of_turns:
        names = ", ".join(by_name) or "none"
        raise DstressError(f"no stressor here changes single turns ({names})", fix="name those to judge with --with")
    return directional or of_turns


def draw_items(variants: Sequence[Variant], turns: int, seed: int, history: int = 0) -> list[Item]:
    """Turns that every variant changes, drawn at random, each as it was and under every variant; in shuffled order.

    There may be fewer than were asked for: turns that only some variants change would not be compared fairly.
    """
    changed = [
        # Only turns whose words changed: there is nothing to judge in others.
        {
            (dialogue.id, index)
            for dialogue in variant.dialogues
            for index, turn in enumerate(dialogue.turns)
            if turn.user != turn.original.user
        }
        for variant in variants
    ]
    places = sorted(set.intersection(*changed)) if changed else []
    random = Random(seed)
    drawn = set(random.sample(places, min(turns, len(places))))
    items: list[Item] = []
    for number, variant in enumerate(variants):
        items += _items(variant, drawn, history, with_originals=number == 0)
    random.shuffle(items)
    return items


def _items(variant: Variant, drawn: set[tuple[str, int]], history: int, *, with_originals: bool) -> Iterator[Item]:
    for dialogue in variant.dialogues:
        for index, turn in enumerate(dialogue.turns):
            if (dialogue.id, index) not in drawn:
                continue
            stressed = variant.name, turn, [before.remembered for before in dialogue.turns[:index]]
            original = ORIGINAL, turn.original, [before.original for before in dialogue.turns[:index]]
            for name, shown, earlier in (stressed, original) if with_originals else (stressed,):
                goal = goal_in_words(update(earlier[-1].state if earlier else {}, shown.state))
                words = history_in_words(earlier, history), shown.system, shown.user, goal
                yield Item(name, dialogue.id, index, *words)


def history_in_words(earlier: Sequence[Turn], history: int) -> str:
    """The last so many turns, a line for each utterance."""
    lines: list[str] = []
    for shown in earlier[-history:] if history else ():
        lines += [f"system: {shown.system}"] if shown.system else []
        lines.append(f"user: {shown.user}")
    return "\n".join(lines)


def write_sheets(items: Sequence[Item], out: Path, source: str, seed: int) -> Key:
    """Write the sheet (CSV), the same as a page to fill in (HTML), instructions (Markdown), and the key (JSON)."""
    mark = blake2b(msgspec.json.encode((seed, items)), digest_size=2).hexdigest()
    named = {f"{mark}-{number:03}": item for number, item in enumerate(items, start=1)}
    key = Key(
        source,
        seed,
        len({(item.dialogue, item.turn) for item in items}),
        {name: Place(item.variant, item.dialogue, item.turn) for name, item in named.items()},
    )
    rows = [(name, item.history, item.system, item.user, item.goal, "", "") for name, item in named.items()]
    sheet = io.StringIO(newline="")
    writer = csv.writer(sheet)
    writer.writerow(COLUMNS)
    writer.writerows([f" {cell}" if cell.startswith(_FORMULA) else cell for cell in row] for row in rows)
    for suffix, content in (
        (".csv", "\ufeff" + sheet.getvalue()),  # the mark tells spreadsheets that this is UTF-8
        (".html", make_page(rows)),
        (".md", make_instructions(len(items), out.name)),
        (".key.json", msgspec.json.format(msgspec.json.encode(key), indent=2).decode() + "\n"),
    ):
        with replacing(sheet_path(out, suffix)) as file:
            file.write(content.encode("utf-8", "replace"))
    return key


def make_instructions(items: int, name: str) -> str:
    """What a judge has to know, in Markdown."""
    return _page_part("instructions.txt").replace("{items}", str(items)).replace("{name}", name)


def make_page(rows: Sequence[Sequence[str]]) -> str:
    """One HTML file, offline; a policy lets only its own script run, so that no utterance can bring one along."""
    script, data = _page_part("page.js"), json_in_script({"rows": rows, "questions": questions("data")})
    policy = f"'sha256-{hash_script(script)}'"
    template = _page_part("page.html.txt")
    return template.replace("{policy}", policy).replace("{script}", script).replace("{data}", data)


def _page_part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def sheet_path(out: Path, suffix: str) -> Path:
    """A file of the sheet: its name with another ending."""
    return out.parent / f"{out.name}{suffix}"


def score_sheets(key_file: Path, paths: Sequence[Path]) -> Verdict:
    """The verdict of the judges on the items of a key."""
    try:
        key = msgspec.json.decode(key_file.read_bytes(), type=Key)
    except OSError as error:
        raise DstressError(f"cannot read the key ({error.strerror})", where=str(key_file)) from None
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        fix = "give the file NAME.key.json that `dstress sample` wrote beside the sheet"
        raise DstressError(f"this is no key: {error}", where=str(key_file), fix=fix) from None
    names = [path.name for path in paths]
    alike = {str(path) for path in paths if names.count(path.name) > 1}
    sheets = {str(path) if str(path) in alike else path.name: read_sheet(path, key.items, QUESTIONS) for path in paths}
    if len(sheets) < len(paths):
        raise DstressError("one sheet is given twice", where=str(min(alike)), fix="give each judge's sheet once")
    groups: dict[str, list[str]] = {ORIGINAL: []}
    for item, place in sorted(key.items.items(), key=lambda entry: (entry[1].variant, entry[0])):
        groups.setdefault(place.variant, []).append(item)
    judged = {name: group for name, group in groups.items() if group}
    return judge(sheets, dict.fromkeys(QUESTIONS, judged))
