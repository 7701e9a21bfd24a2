"""Tools as another author would have written them: renamed, undescribed, reordered, amid others, or missing.

SGD-X asks whether a tracker survives another author's schema; a tool set is one. Authors of tools ask the same: will
the agent still pick my tool after I reword it? Gold calls follow the new names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Literal

import msgspec

from dstress.dialogue import Dialogue, GoldCall, Intent, Schema, Service, Slot, Tool, Turn
from dstress.errors import SpecError
from dstress.resources import Resources
from dstress.spec import ComponentSpec
from dstress.stressors import stressors
from dstress.stressors.base import DialogueStressor, SchemaStressor
from dstress.text.utterance import random_for
from dstress.text.writing_style import capitalise

Change = Literal[
    "names", "opaque", "reworded", "descriptions", "distractors", "duplicates", "order", "removed", "values"
]

_MOST_KEPT = 5_000
_WORD = re.compile(r"[A-Za-z][a-z]*|\d+")
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?![\w%]|[.,]\d)")
_replace = msgspec.structs.replace


class Tools(DialogueStressor):
    """Other names, descriptions, neighbours or order of the tools that may be called; or other values for them.

    `change` is one of: `names` writes names the other way (`get_user`, `getUser`), `opaque` gives names that say
    nothing, `reworded` puts names and descriptions into the words of `by`, a stressor of schemas, `descriptions` drops
    all descriptions, `distractors` adds `count` tools of other dialogues, `duplicates` a deprecated copy of each tool
    that is needed, `order` shuffles tools and parameters, `removed` takes the needed tools away, so that nothing may be
    called, `values` changes numbers in the request and the expected call alike.
    """

    def __init__(
        self, change: Change = "names", count: int = 5, by: str | ComponentSpec = "schema_backtranslation"
    ) -> None:
        if count < 1:
            raise SpecError("tools: count, the tools to add, must be 1 or more")
        self.change, self.count = change, count
        self.effect = "directional" if change in ("names", "opaque", "reworded", "removed", "values") else "invariant"
        self._pool: list[Tool] = []
        rewording = stressors.create(by) if change == "reworded" else None
        if rewording is not None and not isinstance(rewording, SchemaStressor):
            fix = "give schema_backtranslation or schema_noise"
            raise SpecError(f"tools: {by} does not change the words of a schema", fix=fix)
        self.rewording = rewording

    def prepare(self, resources: Resources) -> None:
        """Collect the corpus's tools, of which distractors are drawn."""
        super().prepare(resources)
        if self.rewording is not None:
            self.rewording.prepare(resources)
        if self.change in ("distractors", "removed"):
            tools: dict[str, Tool] = {}
            for dialogue in resources.corpus:
                tools |= {tool.name: tool for tool in dialogue.tools}
                if len(tools) >= _MOST_KEPT:
                    break
            self._pool = list(tools.values())

    def rewrite(self, dialogue: Dialogue, random: Random) -> Dialogue:
        """The dialogue with its tools changed."""
        if not dialogue.tools:
            return dialogue
        if self.change == "values":
            return _replace(dialogue, turns=tuple(_with_other_numbers(turn, random) for turn in dialogue.turns))
        called = {call.tool for turn in dialogue.turns for call in turn.calls or ()}
        if self.change in ("names", "opaque"):
            return _rename(dialogue, self.change == "opaque")
        if self.rewording is not None:
            return _reword(dialogue, self.rewording, random)
        if self.change == "descriptions":
            tools = [Tool(tool.name, "", _undescribed(tool.parameters)) for tool in dialogue.tools]
        elif self.change == "order":
            tools = [_shuffled(tool, random) for tool in random.sample(dialogue.tools, len(dialogue.tools))]
        elif not called:  # any tool that is added might fit; nothing more can be taken away
            return dialogue
        elif self.change == "duplicates":
            names = {tool.name for tool in dialogue.tools}
            copies = (_deprecated(tool) for tool in dialogue.tools if tool.name in called)
            tools = [*dialogue.tools, *(copy for copy in copies if copy.name not in names)]
        elif self.change == "distractors":
            foreign = self._foreign(dialogue, random, self.count)
            if not foreign:  # as where every dialogue has the same tools; their order alone is another stressor
                return dialogue
            tools = [*dialogue.tools, *foreign]
            random.shuffle(tools)
        else:
            tools = [tool for tool in dialogue.tools if tool.name not in called]
            tools = tools or self._foreign(dialogue, random, 1)
            turns = (turn if turn.calls is None else _replace(turn, calls=()) for turn in dialogue.turns)
            dialogue = _replace(dialogue, turns=tuple(turns))
        return _replace(dialogue, tools=tuple(tools))

    def _foreign(self, dialogue: Dialogue, random: Random, count: int) -> list[Tool]:
        """Tools of other dialogues whose names share no word with these, so that none of them should be called."""
        texts = (*(tool.name for tool in dialogue.tools), *(turn.user for turn in dialogue.turns))
        words = {word for text in texts for word in _words(text)}
        free = [tool for tool in self._pool if words.isdisjoint(_words(tool.name))]
        return random.sample(free, min(count, len(free)))


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text) if len(word) > 2}


def _written_otherwise(name: str) -> str:
    """`get_user_id` -> `getUserId`, and back; dots stay, and so does a name of one word."""
    parts = []
    for part in name.split("."):
        words = [word for word in re.split(r"[_-]|(?<=[a-z0-9])(?=[A-Z])", part) if word]
        if "_" in part or "-" in part:
            parts.append(words[0] + "".join(map(capitalise, words[1:])) if words else part)
        else:
            parts.append("_".join(word.lower() for word in words))
    return ".".join(parts)


def _rename(dialogue: Dialogue, opaque: bool) -> Dialogue:
    """Other names for tools, and for their outermost parameters."""
    new = []
    for number, tool in enumerate(dialogue.tools, start=1):
        names = {
            old: f"p{place}" if opaque else _written_otherwise(old)
            for place, old in enumerate(tool.parameters.get("properties", {}), start=1)
        }
        renamed = _with_parameters(tool.parameters, names, {})
        new.append(Tool(f"tool_{number}" if opaque else _written_otherwise(tool.name), tool.description, renamed))
    return _with_tools(dialogue, new)


def _reword(dialogue: Dialogue, rewording: SchemaStressor, random: Random) -> Dialogue:
    """Names and descriptions as another stressor words those of a schema.

    A tool is a service there, with its parameters as slots; its own name and description are those of an intent. What
    stands before a dot in a tool's name stays.
    """
    services = []
    for tool in dialogue.tools:
        properties = tool.parameters.get("properties", {}).items()
        slots = tuple(Slot(name, str(part.get("description", ""))) for name, part in properties)
        intent = Intent(tool.name.rpartition(".")[2], tool.description)
        services.append(Service(tool.name, "", slots, (intent,)))
    seed = random.getrandbits(64)
    reworded = rewording.variant(Schema(tuple(services)), lambda key: random_for(seed, key))
    new = []
    for tool, old, service in zip(dialogue.tools, services, reworded.services, strict=True):
        pairs = list(zip(old.slots, service.slots, strict=True))
        names = {before.name: after.name for before, after in pairs}
        parameters = _with_parameters(
            tool.parameters, names, {before.name: after.description for before, after in pairs}
        )
        prefix = "".join(tool.name.rpartition(".")[:2])
        new.append(Tool(prefix + service.intents[0].name, service.intents[0].description, parameters))
    return _with_tools(dialogue, new)


def _with_parameters(
    schema: Mapping[str, Any], names: Mapping[str, str], descriptions: Mapping[str, str]
) -> dict[str, Any]:
    """A schema whose outermost parameters have other names and descriptions; names that would meet all stay."""
    if len(set(names.values())) < len(names):
        names = {name: name for name in names}
    new = dict(schema)
    if names:
        new["properties"] = {
            names[old]: part | ({"description": descriptions[old]} if descriptions.get(old) else {})
            for old, part in schema["properties"].items()
        }
        if "required" in schema:
            new["required"] = [names.get(old, old) for old in schema["required"]]
    return new


def _with_tools(dialogue: Dialogue, tools: Sequence[Tool]) -> Dialogue:
    """The dialogue with its tools under other names, in the same places; calls follow. Names that would meet stay."""
    old_names = {tool.name for tool in dialogue.tools}
    names: dict[str, str] = {}
    parameters: dict[str, dict[str, str]] = {}
    for old, new in zip(dialogue.tools, tools, strict=True):
        is_free = new.name not in names.values() and new.name not in old_names
        names[old.name] = new.name if is_free else old.name
        both = zip(old.parameters.get("properties", {}), new.parameters.get("properties", {}), strict=True)
        parameters[old.name] = dict(both)

    def renamed(call: GoldCall) -> GoldCall:
        own = parameters.get(call.tool, {})
        arguments = {own.get(name, name): values for name, values in call.arguments.items()}
        return GoldCall(names.get(call.tool, call.tool), arguments)

    turns = tuple(
        turn if turn.calls is None else _replace(turn, calls=tuple(map(renamed, turn.calls))) for turn in dialogue.turns
    )
    new_tools = (_replace(new, name=names[old.name]) for old, new in zip(dialogue.tools, tools, strict=True))
    return _replace(dialogue, turns=turns, tools=tuple(new_tools))


def _undescribed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema without descriptions, also of what lies inside; a parameter of that name stays."""
    kept = {key: value for key, value in schema.items() if key != "description"}
    if isinstance(kept.get("properties"), Mapping):
        kept["properties"] = {name: _undescribed(part) for name, part in kept["properties"].items()}
    if isinstance(kept.get("items"), Mapping):
        kept["items"] = _undescribed(kept["items"])
    return kept


def _shuffled(tool: Tool, random: Random) -> Tool:
    properties = list(tool.parameters.get("properties", {}).items())
    random.shuffle(properties)
    return _replace(tool, parameters=tool.parameters | ({"properties": dict(properties)} if properties else {}))


def _deprecated(tool: Tool) -> Tool:
    return Tool(f"{tool.name}_old", f"Deprecated, use {tool.name} instead. {tool.description}".strip(), tool.parameters)


def _with_other_numbers(turn: Turn, random: Random) -> Turn:
    """A turn with another number in place of each that is said once, as digits, and is one argument alone."""
    if not turn.calls:
        return turn
    calls = list(turn.calls)
    text = turn.user
    for match in reversed(list(_NUMBER.finditer(text))):
        number = int(match[0])
        places = [
            (at, name, values)
            for at, call in enumerate(calls)
            for name, values in call.arguments.items()
            if number in [value for value in values if type(value) in (int, float)]
        ]
        said = [other for other in _NUMBER.findall(turn.user) if int(other) == number]
        if len(places) == len(said) == 1 and str(number) == match[0]:
            [(at, name, values)] = places
            new, old = number + random.randint(1, 9), next(value for value in values if value == number)
            kept = (value for value in values if value == "")
            calls[at] = GoldCall(calls[at].tool, calls[at].arguments | {name: (type(old)(new), *kept)})
            text = text[: match.start()] + str(new) + text[match.end() :]
    return turn if text == turn.user else _replace(turn, user=text, calls=tuple(calls))
