"""How each family of models writes its calls, and which family a model belongs to.

The Berkeley leaderboard reads every model's answers with a handler of that model, and its verdicts depend on it:
`f(x=1)` without brackets is a call of one model and a failed answer of another. A style here reads as one of those
handlers does. An answer is text, or a list of `{tool: arguments}` where the endpoint itself says what is called.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from dstress.text.python_calls import Calls, NoCalls, read_calls
from dstress.text.tables import read_table

Style = Callable[[Any], Calls]
"""The calls of an answer; raises NoCalls where it has none that can be read."""


def listed(answer: Any) -> Calls:
    """The calls that an endpoint lists: `[{tool: arguments}]`, the arguments as an object or as its JSON text."""
    if isinstance(answer, Mapping):
        answer = [answer]
    if not isinstance(answer, list):
        raise NoCalls("a text, and no call")
    calls = []
    for call in answer:
        if not isinstance(call, Mapping) or not call:
            raise NoCalls("a call that is no object")
        name, arguments = next(iter(call.items()))
        calls.append((name, _json(arguments) if isinstance(arguments, str) else arguments))
    return calls


def named(calls: Iterable[Any], arguments: tuple[str, ...] = ("arguments",)) -> Calls:
    """The calls of objects with `name` and `arguments`, or whatever their arguments go by."""
    read: Calls = []
    for call in calls:
        if not isinstance(call, Mapping) or "name" not in call:
            raise NoCalls("a call that is no object with a name")
        read.append((str(call["name"]), next((call[key] for key in arguments if key in call), {})))
    return read


def attempted(answer: Any) -> bool:
    """Whether an answer that cannot be read tries to call something, rather than saying that it does not."""
    if isinstance(answer, list) and all(isinstance(part, str) for part in answer):
        return any(map(attempted, answer))
    return not isinstance(answer, str) or bool(_ATTEMPT.search(answer))


_ATTEMPT = re.compile(
    r"<\W*(?:tool|function)_?call|[\"'](?:tool_calls|arguments|parameters)[\"']\s*:|^\W*\[?\s*[\w.\\]+\(|[\w.]\(\s*\w+\s*=",
    re.IGNORECASE,
)


def _json(text: str) -> Any:
    """JSON, as leniently as Python's own reader takes it."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise NoCalls(f"not JSON: {error}") from None


def _bracketed(text: str) -> str:
    return f"{'' if text.startswith('[') else '['}{text}{'' if text.endswith(']') else ']'}"


def _plain(text: str) -> Calls:
    return read_calls(text)


def _brackets(text: str) -> Calls:
    return read_calls(_bracketed(text))


def _blank(text: str) -> Calls:
    """Claude's, and the open models' of 2024: a leading blank may go."""
    if not text:
        raise NoCalls("an empty answer")
    return read_calls(_bracketed(text.removeprefix(" ")))


def _escaped(text: str) -> Calls:
    """Mistral's, which escapes underscores as Markdown does."""
    return read_calls(_bracketed(text.replace("\\_", "_")))


def _one_line(text: str) -> Calls:
    return read_calls(_bracketed(text.replace("\n", "")))


def _quoted(text: str) -> Calls:
    """Arctic's and Nemotron's, which put each call into quotes."""
    text = text.replace("\n", "")
    text = f"{'' if text.startswith('[') else '[ '}{text}{'' if text.endswith(']') else ' ]'}"
    if text.startswith("['"):
        text = text.replace("['", "[").replace("', '", ", ").replace("','", ", ")
    if text.endswith("']"):
        text = text.replace("']", "]")
    return read_calls(text)


def _unquoted(text: str) -> Calls:
    """DBRX's: without single quotes first, and as it stands if that is no source."""
    bare = _bracketed(re.sub(r"'([^']*)'", r"\1", text).replace("\n    ", ""))
    try:
        return read_calls(bare.replace("['", "[") if bare.startswith("['") else bare)
    except NoCalls:
        return read_calls(text)


def _outer_list(text: str) -> Calls:
    """Gemma's: from the first bracket to the last."""
    match = re.search(r"\[(.*)\]", text, re.DOTALL)
    if match is None:
        raise NoCalls("no list in it")
    return read_calls(match[0])


def _fenced(text: str) -> Calls:
    """DeepSeek Coder's: the first list inside the first fence."""
    parts = text.split("```")
    match = re.search(r"\[[^\]]*\]", parts[1]) if len(parts) > 1 else None
    if match is None:
        raise NoCalls("no list in a fence")
    return read_calls(match[0])


def _semicolons(text: str) -> Calls:
    """Raven's; it calls `out_of_domain` where nothing fits."""
    calls = read_calls(f"[{text.removesuffix(';').replace(';', ',')}]")
    return [] if "out_of_domain" in text else calls


def _wrapped(text: str) -> Calls:
    return read_calls(f"[{text}]")


def _tagged_lines(text: str) -> Calls:
    """Hermes': the line after each `<tool_call>`."""
    calls, within = [], False
    for line in text.split("\n"):
        if within and line not in ("<tool_call>", "</tool_call>"):
            call = _json(line.replace("'", '"'))
            if not (isinstance(call, dict) and {"name", "arguments"} <= call.keys()):
                raise NoCalls("a call that is no object with a name and arguments")
            calls.append((call["name"], call["arguments"]))
        within = line == "<tool_call>"
    return calls


def _tool_calls(text: str) -> Calls:
    """xLAM's: a JSON list of calls, or an object with `tool_calls`."""
    data = _json(text)
    calls = data if isinstance(data, list) else data.get("tool_calls", []) if isinstance(data, dict) else None
    if not isinstance(calls, list):
        raise NoCalls("no list of calls")
    return [(call.get("name", ""), call.get("arguments", {})) for call in calls if isinstance(call, dict)]


def _function_tags(text: str) -> Calls:
    """Granite's: JSON after each `<function_call>`; `no_function` where nothing fits."""
    calls = named(_json(part) for part in map(str.strip, text.split("<function_call>")) if part)
    if any(name.strip() == "no_function" for name, _ in calls):
        return []
    return [(name.strip(), arguments) for name, arguments in calls]


def _name_line(text: str) -> Calls:
    """GLM-4's: the name on the first line, the arguments on the second."""
    name, _, rest = text.partition("\n")
    if not rest and "\n" not in text:
        raise NoCalls("no call")
    return [(name, _json(rest.split("\n")[0]))]


def _fences(text: str) -> Calls:
    """The newer leaderboard's, for every prompted model: marks of code around the list may go."""
    return read_calls(_bracketed(text.strip("`\n ")).strip().strip("'"), bare=True)


_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|$)", re.DOTALL)
_ARGUMENTS = ("arguments", "parameters", "params", "input")


def _any(answer: Any) -> Calls:
    """Whichever form it has, for a model that no table names."""
    if not isinstance(answer, str):
        return listed(answer)
    if tagged := _TAGGED.findall(answer):
        parts = [_json(part) for part in map(str.strip, tagged)]
        return named((call for part in parts for call in (part if isinstance(part, list) else [part])), _ARGUMENTS)
    bare = answer.strip("`\n ").removeprefix("json").strip()
    if bare.startswith(("{", "[{")):
        try:
            data = _json(bare)
        except NoCalls:
            return _fences(answer)
        calls = data.get("tool_calls", data) if isinstance(data, dict) else data
        return named(calls if isinstance(calls, list) else [calls], _ARGUMENTS)
    return _escaped(answer) if "\\_" in answer else _fences(answer)


STYLES: dict[str, Style] = {
    "any": _any,
    "listed": listed,
    "plain": _plain,
    "brackets": _brackets,
    "blank": _blank,
    "escaped": _escaped,
    "one-line": _one_line,
    "quoted": _quoted,
    "unquoted": _unquoted,
    "outer-list": _outer_list,
    "fenced": _fenced,
    "semicolons": _semicolons,
    "wrapped": _wrapped,
    "tagged-lines": _tagged_lines,
    "tool-calls": _tool_calls,
    "function-tags": _function_tags,
    "name-line": _name_line,
    "fences": _fences,
}


_MARKS = {"<tool_call>": "tagged-lines", "<function_call>": "function-tags", '{"tool_calls"': "tool-calls"}
_MARGINS = {"plain": 0.0, "blank": 0.03, "escaped": 0.03, "one-line": 0.03, "quoted": 0.1, "semicolons": 0.1,
            "name-line": 0.1, "unquoted": 0.2, "outer-list": 0.2}  # fmt: skip
"""The styles of 2024, the strictest first, as they are tried on the answers of a model that is not known, and how much
more of the answers each has to read than those before it."""


def style_of(path: str, answers: Sequence[Any], newer: bool) -> tuple[Style, bool | None]:
    """How the answers of a file are read, and whether its model was shown underscores (None: the answers tell).

    A model of the leaderboard of August 2024 is known by its name in the file's path. Any other file of that time is
    read in the strictest of those ways that reads the most answers; newer ones as the newer leaderboard reads them.
    """
    if newer:
        return _any, None
    table, name = read_table(__package__, "call_models.toml"), path.casefold()
    known = [start for start in table["style"] if re.search(rf"(?<![a-z0-9]){re.escape(start)}", name)]
    if known:
        start = max(known, key=len)
        native = re.search(rf"{re.escape(start)}[^/]*?-fc(?:-any|-auto|-optimized)?(?![\w-])", name) is not None
        style = "listed" if native else table["style"][start]
        return STYLES[style], table["underscored"].get(start, native)
    texts = [answer for answer in answers if isinstance(answer, str)]
    if len(texts) < len(answers):
        return listed, None
    for mark, style in _MARKS.items():
        if any(mark in text for text in texts):
            return STYLES[style], None
    style, most = "plain", -1.0
    for candidate, margin in _MARGINS.items():
        # Around a list in a fence no reader of that time looked, but one.
        readable = _count_readable(STYLES[candidate], [text for text in texts if "```" not in text])
        if readable > most + margin * len(texts) or most < 0:
            style, most = candidate, readable
    return STYLES[style], None


def _count_readable(style: Style, answers: Iterable[Any]) -> int:
    count = 0
    for answer in answers:
        with suppress(NoCalls):
            count += bool(style(answer))
    return count


def read_answer(style: Style, answer: Any) -> tuple[Calls, str]:
    """The calls of an answer; or none, and where it tries to make one, why it could not be read."""
    if isinstance(answer, str) != (style is not listed) and style is not _any:
        return [], "calls in another form than the file's other answers" if not isinstance(answer, str) else (
            "a call in the text" if attempted(answer) else ""
        )
    try:
        return style(answer), ""
    except NoCalls as problem:
        return [], str(problem) if attempted(answer) else ""
