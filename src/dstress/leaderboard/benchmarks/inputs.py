"""The public side of a benchmark: what a tracker may see of each dialogue, under anonymised ids.

Gold leaks in more ways than by labels. So a public dialogue has words only: no states, frames, acts, goals, flags or
records of what a stressor did, and not what the system says after the last turn. Its id is keyed, so that nobody can
tell which dialogues are versions of one. Dialogues of all variants lie together, in the order of those ids. What a
system looks things up in belongs to no dialogue: the corpus's tables are public, and so is what a slot may hold.
"""

from __future__ import annotations

import hashlib
import hmac
import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from dstress.corpora import importers
from dstress.corpora.base import Corpus
from dstress.corpora.database import Database, table_file
from dstress.corpora.unfold import unfold
from dstress.dialogue import Dialogue, Frame, Schema, Turn
from dstress.errors import CorpusError
from dstress.runs.folder import RunFolder
from dstress.storage.atomic import replacing

LAYOUTS = ("dstress", "sgd", "unified", "trade", "multiwoz")
"""The layouts that trackers read; those of MultiWOZ alone are left out for other schemas."""
_WITHOUT_VALUES = ("trade", "multiwoz")
"""Layouts in which a schema does not come along, and with it what slots may hold."""
SPLIT = "test"
WHOLE = -1
"""In place of a turn: all turns of the dialogue are asked for."""
_LONG_AGO = (2000, 1, 1, 0, 0, 0)
"""What archives say of their files' age, so that the same inputs have the same bytes."""
_README = """Public inputs of the benchmark {title}.

Answer every dialogue under its id, turn by turn, in any prediction format that `dstress score` reads. A dialogue that
ends with a stressed turn may be answered in its last turn only: `asked.json` names the turns that are asked for.{more}

Licence of the data: {licence}
"""
_DATABASE = "\nFiles such as `{file}` are the database, in which a system looks up what it offers."
_PARTS = "\nEach folder has a schema of its own: submit a zip with a folder of the same name for each."


class Case(msgspec.Struct, frozen=True):
    """One public dialogue, and what it stands for: a whole dialogue of a variant, or one stressed turn of it."""

    id: str
    part: str
    variant: str
    dialogue: str
    turn: int
    turns: int

    @property
    def asked(self) -> range:
        """The turns whose answers count."""
        return range(self.turns) if self.turn == WHOLE else range(self.turn, self.turn + 1)


def list_cases(run: RunFolder, secret: bytes, tell_services: bool) -> Iterator[tuple[Case, Dialogue]]:
    """Every public dialogue of a run's variants, with its key. Dialogues of one schema make up a part."""
    parts = part_names(run)
    for variant in run.variants:
        # The turns that stressors of single turns left alone are those of the original, and are not asked for again.
        stressor = run.variant(variant).stressor
        by_turn = stressor is not None and all(part.scope == "turn" for part in stressor.parts)
        for dialogue in run.variant(variant).dialogues():
            for version in unfold(dialogue, whole=not by_turn):
                last = len(version.turns) - 1
                turn = WHOLE if version.id == dialogue.id else last
                if turn == WHOLE or dialogue.turns[turn].changed:
                    text = f"{variant}\0{dialogue.id}\0{turn}".encode("utf-8", "surrogatepass")
                    # Letters and digits only: scripts cut ids at hyphens and underscores, and some lower them.
                    public_id = f"d{hmac.new(secret, text, hashlib.sha256).hexdigest()[:16]}"
                    case = Case(public_id, parts[variant], variant, dialogue.id, turn, last + 1)
                    yield case, _in_public(version, public_id, tell_services)


def part_names(run: RunFolder) -> dict[str, str]:
    """The part that each variant's dialogues are in: variants with one schema share theirs."""
    names: dict[bytes, str] = {}
    schemas = {variant: msgspec.json.encode(run.variant(variant).schema) for variant in run.variants}
    return {variant: names.setdefault(schema, f"part{len(names) + 1}") for variant, schema in schemas.items()}


def _in_public(dialogue: Dialogue, public_id: str, tell_services: bool) -> Dialogue:
    """The words alone; where services are told, every turn may be about each of them, as far as anybody can see."""
    services = tuple(sorted(dialogue.services)) if tell_services else ()
    frames = tuple(map(Frame, services))
    turns = tuple(Turn(turn.user, turn.system, frames=frames) for turn in dialogue.turns)
    return Dialogue(public_id, turns, services)


def write_archives(parts: dict[str, Corpus], cases: Sequence[Case], folder: Path, title: str, licence: str) -> None:
    """Write the inputs as a zip for each layout that their schemas fit."""
    asked = {case.id: list(case.asked) for case in sorted(cases, key=lambda case: case.id)}
    tables = next((table_file(service) for corpus in parts.values() for service in _tables(corpus)), "")
    more = (_DATABASE.format(file=tables) if tables else "") + (_PARTS if len(parts) > 1 else "")
    readme = _README.format(title=title, licence=licence or "see the corpus", more=more)
    for layout in LAYOUTS:
        with TemporaryDirectory() as unpacked:
            try:
                for name, corpus in parts.items():
                    inside = Path(unpacked) / (name if len(parts) > 1 else "")
                    importers.create(layout).write(corpus, inside)
                    if corpus.database:
                        corpus.database.write(inside)
                    if layout in _WITHOUT_VALUES:
                        (inside / "ontology.json").write_bytes(msgspec.json.encode(_ontology(corpus)))
            except CorpusError:
                continue
            written = (path for path in Path(unpacked).rglob("*") if path.is_file())
            files = {str(path.relative_to(unpacked)): path.read_bytes() for path in written}
        files |= {"README.txt": readme.encode(), "asked.json": msgspec.json.encode(asked)}
        with replacing(folder / f"{layout}.zip") as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in sorted(files.items()):
                archive.writestr(zipfile.ZipInfo(name, _LONG_AGO), content, zipfile.ZIP_DEFLATED)


def _tables(corpus: Corpus) -> Collection[str]:
    return corpus.database.tables.keys() if corpus.database else ()


def _ontology(corpus: Corpus) -> dict[str, list[str]]:
    """What each slot may hold as far as the schema and the database say it; labels have no part in it."""
    values = {name: dict.fromkeys(slot.values) for name, slot in corpus.schema.slots.items()}
    if corpus.database:
        for name, options in values.items():
            service, _, slot = name.partition("-")
            options |= dict.fromkeys(sorted(corpus.database.values(service, slot.casefold().replace(" ", ""))))
    return {name: list(options) for name, options in values.items()}


def public_corpus(path: Path, schema: Schema, open_database: Callable[[], Database | None]) -> Corpus:
    """Public dialogues, read as they are iterated, and the database."""

    def read() -> Iterator[Dialogue]:
        with path.open("rb") as lines:
            for line in lines:
                yield msgspec.json.decode(line, type=Dialogue)

    corpus = Corpus("inputs", SPLIT, schema, read)
    corpus.open_database = open_database
    return corpus
