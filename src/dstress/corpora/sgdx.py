"""SGD-X: the same dialogues under five rewritten schemas, by position in the schema as the official generator does.

Only the variant schemas are published (some 60 kB); a stored dialogue is renamed as it is read (`schema_names`).
`write_variant` writes the files that the official generator writes, byte for byte, for tools that train on them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from dstress.corpora.sgd import dialogue_files, read_schema
from dstress.corpora.split_names import sort_splits, split_of_folder
from dstress.dialogue import Schema
from dstress.schema_names import INTENT_ACTS, Names, map_names
from dstress.storage.atomic import replacing
from dstress.storage.file_names import file_name
from dstress.storage.sources import Source

_VARIANT = re.compile(r"(?:^|/)(v[1-9][0-9]*)/[^/]+$")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def read_variants(source: Source) -> dict[str, dict[str, Schema]]:
    """Variant -> split -> schema, for a source that holds `v1/test/schema.json` and so on; empty for other sources."""
    variants: dict[str, dict[str, Schema]] = {}
    for file in source.named("schema.json"):
        match = _VARIANT.search(file.folder)
        if match:
            variants.setdefault(match[1], {})[split_of_folder(file.folder, source)] = read_schema(file)
    return dict(sorted(variants.items())) if not dialogue_files(source) else {}


def write_variants(sgd: Source, schemas: Source, folder: Path) -> Iterator[Path]:
    """Write what the official generator writes, into `folder`/v1 ...: dialogue files and schemas; yield each path."""
    sgd.keep(lambda file: not _VARIANT.search(file.folder))
    schemas.keep(lambda file: _VARIANT.search(file.folder) is not None and file.stem == "schema.json")
    original = {split_of_folder(file.folder, sgd): read_schema(file) for file in sgd.named("schema.json")}
    for variant, by_split in read_variants(schemas).items():
        shared = [split for split in sort_splits(by_split) if split in original]
        names = map_names((original[split], by_split[split]) for split in shared)
        yield from write_variant(sgd, names, folder / file_name(variant))
    for file in schemas.files:
        match = _VARIANT.search(file.folder)
        split = split_of_folder(file.folder, schemas)
        if match and split in original:
            path = folder / file_name(match[1]) / split / "schema.json"
            with replacing(path) as out:
                out.write(file.read())
            yield path


def write_variant(source: Source, names: Names, folder: Path) -> Iterator[Path]:
    """Write every dialogue file of an SGD source under the variant's names, file by file."""
    for inside, files in dialogue_files(source).items():
        for file in files:
            dialogues = json.loads(file.read())
            for dialogue in dialogues:
                dialogue["services"] = [names.services.get(service, service) for service in dialogue["services"]]
                for turn in dialogue["turns"]:
                    for frame in turn["frames"]:
                        _rename_frame(frame, names)
            path = folder / split_of_folder(inside, source) / f"{file_name(Path(file.stem).stem)}.json"
            with replacing(path) as out:
                # Sorted keys, two blanks, ASCII only: the layout of the official files, at the speed of msgspec.
                text = msgspec.json.format(msgspec.json.encode(dialogues, order="sorted"), indent=2).decode()
                out.write(_NOT_ASCII.sub(lambda match: json.dumps(match[0])[1:-1], text).encode())
            yield path


def _rename_frame(frame: dict[str, Any], names: Names) -> None:
    slots = names.slots.get(frame["service"], {})
    intents = names.intents.get(frame["service"], {})
    frame["service"] = names.services.get(frame["service"], frame["service"])
    for span in frame["slots"]:
        span["slot"] = slots.get(span["slot"], span["slot"])
    if state := frame.get("state"):
        state["active_intent"] = intents.get(state["active_intent"], state["active_intent"])
        state["requested_slots"] = [slots.get(slot, slot) for slot in state["requested_slots"]]
        state["slot_values"] = _rename_keys(state["slot_values"], slots)
    for action in frame.get("actions", ()):
        if action.get("slot") == "intent" and action["act"] in INTENT_ACTS:
            for field in ("canonical_values", "values"):
                if field in action:
                    action[field] = [intents.get(value, value) for value in action[field]]
        elif "slot" in action:
            action["slot"] = slots.get(action["slot"], action["slot"])
    if "service_results" in frame:
        frame["service_results"] = [_rename_keys(result, slots) for result in frame["service_results"]]
    if call := frame.get("service_call"):
        call["method"] = intents.get(call["method"], call["method"])
        call["parameters"] = _rename_keys(call["parameters"], slots)


def _rename_keys(table: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in table.items()}
