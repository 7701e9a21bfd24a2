"""dstress's own layout: a dialogue a line in `SPLIT.jsonl`, and `SPLIT.schema.json` or one `schema.json` beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Any

import msgspec

from dstress.corpora.base import Corpus, Importer, LocatedDialogue, Split
from dstress.corpora.json_files import decode, decode_part
from dstress.corpora.json_importer import complete_split
from dstress.corpora.split_names import sort_splits, split_of_file
from dstress.corpora.tools import check_calls, check_tools
from dstress.dialogue import Dialogue, Schema, join_values
from dstress.errors import UNREADABLE_JSON, CorpusError
from dstress.storage.atomic import replacing
from dstress.storage.file_names import file_name
from dstress.storage.sources import Source, SourceFile

_STRESSED = msgspec.json.Decoder(dict[str, Any])
_ANY = msgspec.json.Decoder(Any)
_MOST_FORMS = 64
_DIALOGUE = msgspec.json.Decoder(Dialogue)
_SCHEMA = msgspec.json.Decoder(Schema)


class Jsonl(Importer):
    """dstress JSONL: what `dstress stress` writes, and the easiest layout to write by hand."""

    name = "dstress"

    @classmethod
    def matches(cls, source: Source) -> bool:
        return any(b'"turns"' in file.head() for file in source.ending(".jsonl"))

    def splits(self, source: Source) -> Iterator[Split]:
        language = next((str(decode(_STRESSED, file).get("language", "")) for file in source.named("stress.json")), "")
        by_name = {split_of_file(file, ".jsonl"): file for file in source.ending(".jsonl")}
        for name in sort_splits(by_name):
            file = by_name[name]
            schema = schema_beside(source, name, file.stem.removesuffix(".jsonl"))
            yield complete_split(name, partial(_read_lines, file), language, schema)

    def write(self, corpus: Corpus, folder: Path) -> None:
        name = file_name(corpus.split)
        with replacing(folder / f"{name}.jsonl") as lines:
            for dialogue in corpus:
                lines.write(msgspec.json.encode(dialogue) + b"\n")
        with replacing(folder / f"{name}.schema.json") as out:
            out.write(msgspec.json.encode(corpus.schema))


def schema_beside(source: Source, split: str, stem: str) -> Schema | None:
    """A split's own schema, else the common one; None where its states must tell."""
    candidates = (f"{stem}.schema.json", f"{split}.schema.json", "schema.json")
    schema_file = next((file for candidate in candidates for file in source.named(candidate)), None)
    return decode(_SCHEMA, schema_file) if schema_file else None


def _read_lines(file: SourceFile) -> Iterator[LocatedDialogue]:
    """A dialogue a line, never more than one in memory."""
    for number, line in enumerate(file.lines(), start=1):
        if line.strip():
            where = f"{file.label}, line {number}"
            try:
                dialogue = _DIALOGUE.decode(line)
            except UNREADABLE_JSON as error:
                # Perhaps it was written by hand, and a value is a text instead of a list of forms.
                is_json = isinstance(error, msgspec.ValidationError)
                dialogue = decode_part(_DIALOGUE, _with_forms(line, where) if is_json else line, where)
            check_tools(dialogue.tools, where)
            check_calls(dialogue, where)
            yield where, dialogue


def _with_forms(line: bytes, where: str) -> bytes:
    """The line with a list of forms for every value; what fits no layout stays as it is."""
    data = decode_part(_ANY, line, where)
    for turn in data.get("turns") or () if isinstance(data, dict) else ():
        if isinstance(turn, dict) and isinstance(turn.get("state"), dict):
            turn["state"] = {
                slot: read_forms({"any": value} if isinstance(value, list) else value, slot, where)
                for slot, value in turn["state"].items()
            }
    return msgspec.json.encode(data)


def read_forms(value: Any, slot: str, where: str) -> tuple[str, ...]:
    """The accepted forms of a value as people write it; none where there is no value."""
    if value is None or value in ("", [], {}):
        return ()
    if isinstance(value, bool):
        return ("yes" if value else "no",)
    if isinstance(value, str):
        return (value.strip(),)
    if isinstance(value, int | float):
        return (str(int(value)) if value == int(value) else str(value),)
    if isinstance(value, Mapping) and value.keys() == {"any"} and isinstance(value["any"], list):
        return tuple(dict.fromkeys(form for each in value["any"] for form in read_forms(each, slot, where)))
    parts = value.get("all") if isinstance(value, Mapping) and len(value) == 1 else value
    if not isinstance(parts, list):
        fix = 'write a text, a number, a list of values that are all wanted, or {"any": [...]} for forms of one value'
        raise CorpusError(f"the value of {slot!r} cannot be read: {value!r:.80}", where=where, fix=fix)
    combined = product(*(read_forms(part, slot, where) for part in parts))
    return tuple(dict.fromkeys(map(join_values, islice(combined, _MOST_FORMS))))
