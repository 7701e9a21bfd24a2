"""Tools as their authors list them: MCP's `tools/list`, OpenAI's `tools` array, and the layouts of corpora."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Tool
from dstress.errors import CorpusError, unknown

_SCHEMAS = ("parameters", "inputSchema", "input_schema")
"""Where a tool's JSON schema stands: OpenAI, MCP, Anthropic."""


def read_tools(listed: object, where: str) -> tuple[Tool, ...]:
    """The tools of a list, each an object with a name and a JSON schema of its parameters."""
    if isinstance(listed, Mapping):  # {"tools": [...]}, or MCP's {"result": {"tools": [...]}}
        inner = listed.get("result", listed)
        listed = inner.get("tools", listed) if isinstance(inner, Mapping) else listed
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise CorpusError("this is no list of tools", where=where, fix='give {"tools": [...]}, or the list itself')
    tools: dict[str, Tool] = {}
    for place, entry in enumerate(listed):
        inner = entry.get("function", entry) if isinstance(entry, Mapping) else entry
        if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str) or not inner["name"]:
            raise CorpusError(f"tool {place} has no name", where=where, fix='a tool is {"name", "parameters", ...}')
        name = inner["name"]
        if name in tools:
            raise _two_of_a_name(name, where)
        schema: object = next((inner[key] for key in _SCHEMAS if inner.get(key) is not None), {})
        tools[name] = Tool(name, str(inner.get("description") or ""), check_schema(schema, f"{where}, tool {name!r}"))
    return tuple(tools.values())


def check_tools(tools: Sequence[Tool], where: str) -> None:
    """Refuse tools that were read as they stand if calls could not tell two of them apart, or have no JSON schema."""
    names: set[str] = set()
    for tool in tools:
        if tool.name in names:
            raise _two_of_a_name(tool.name, where)
        names.add(tool.name)
        check_schema(tool.parameters, f"{where}, tool {tool.name!r}")


def check_calls(dialogue: Dialogue, where: str) -> None:
    """Refuse expected calls in which a member of an object is a plain value: everything lists what is accepted."""
    for number, turn in enumerate(dialogue.turns):
        for call in turn.calls or ():
            for name, accepted in call.arguments.items():
                if any(_has_plain_member(value) for value in accepted):
                    raise CorpusError(
                        f"argument {name!r} of {call.tool!r}: a member of an object does not list its accepted values",
                        where=f"{where}, dialogue {dialogue.id}, turn {number}",
                        fix='write {"city": ["Rome", "Roma"]}, not {"city": "Rome"}',
                    )


def _has_plain_member(accepted: object) -> bool:
    if isinstance(accepted, list):
        return any(map(_has_plain_member, accepted))
    if not isinstance(accepted, dict):
        return False
    return any(
        _has_plain_member(members) if isinstance(members, dict) else not isinstance(members, list)
        for members in accepted.values()
    )


def _two_of_a_name(name: str, where: str) -> CorpusError:
    return CorpusError(f"two tools are called {name!r}", where=where, fix="rename one: calls name their tool")


def offer_tools(corpus: Corpus, path: Path) -> Corpus:
    """The corpus with the tools of a file at hand in every dialogue, in place of its own."""
    try:
        tools = read_tools(msgspec.json.decode(path.read_bytes()), str(path))
    except (OSError, msgspec.DecodeError) as error:
        fix = "give the JSON of MCP's tools/list, or a list of tools as OpenAI's API takes it"
        raise CorpusError(f"no tools can be read here: {error}", where=str(path), fix=fix) from None
    names = [tool.name for tool in tools]

    def read() -> Iterator[Dialogue]:
        for dialogue in corpus:
            for number, turn in enumerate(dialogue.turns):
                for call in turn.calls or ():
                    if call.tool and call.tool not in names:
                        where = f"{corpus.signature}, dialogue {dialogue.id}, turn {number}"
                        fix = f"list it in {path}, or change the expected call"
                        raise unknown("tool", call.tool, names, where=where, fix=fix)
            yield msgspec.structs.replace(dialogue, tools=tools)

    return corpus.map(read)


def check_schema(schema: object, where: str) -> dict[str, Any]:
    """A tool's parameters as a JSON schema; a tool may have none."""
    properties = schema.get("properties", {}) if isinstance(schema, Mapping) else None
    required = schema.get("required", []) if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or not all(isinstance(part, Mapping) for part in properties.values()):
        fix = '{"type": "object", "properties": {NAME: {"type": ...}}, "required": [...]}'
        raise CorpusError("the parameters are no JSON schema of an object", where=where, fix=fix)
    if not isinstance(required, list) or not set(map(str, required)) <= properties.keys():
        missing = next((name for name in required or () if name not in properties), required)
        raise CorpusError(f"{missing!r} is required, and no parameter", where=where, fix="correct `required`")
    return dict(schema) if isinstance(schema, Mapping) else {}
