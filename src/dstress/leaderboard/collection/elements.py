"""SGD-X's blind paraphrasing of schema elements (Lee et al. 2022, section 2.1).

A worker gets one service and writes either all names, from the descriptions alone, or all descriptions, from the names.
The original of what is asked for is not shown: that is what makes paraphrases diverse. As in the paper, a name that is
ambiguous by itself comes with its description as an example, and a categorical slot with its possible values. Service
names are not asked for; the paper did not paraphrase them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from dstress.dialogue import Schema, Service, Slot
from dstress.stressors.schema.variant_pool import Paraphrases, Pool, ServicePool
from dstress.stressors.schema.wording import fold_name, join_name, split_name

Asked = Literal["names", "descriptions"]
LONGEST_NAME, LONGEST_DESCRIPTION = 60, 300
_FEWEST_WORDS = 3
"""A description of two words is a name."""


class Prompt(msgspec.Struct, frozen=True, omit_defaults=True):
    """One element to write about. `shown` is all that a worker sees of it, beside the hints."""

    key: str
    """`slot departure`, `intent book_taxi`, or `service`."""
    kind: str
    shown: str
    example: str = ""
    values: tuple[str, ...] = ()


class ElementTask(msgspec.Struct, frozen=True):
    """All names or all descriptions of one service."""

    service: str
    """Its name; shown only where descriptions are asked for."""
    about: str
    """What the worker is told about the service: its description, or its name."""
    asked: Asked
    prompts: tuple[Prompt, ...]


def ambiguous_elements(schema: Schema) -> set[str]:
    """Ids (`taxi-slot day`) whose name has another description in another service: it does not say enough by itself.

    The paper's authors chose by hand; an organiser can add and take away.
    """
    meanings: dict[str, set[str]] = {}
    for _, _, name, description in _elements(schema):
        meanings.setdefault(fold_name(name), set()).add(description)
    return {f"{service}-{key}" for service, key, name, _ in _elements(schema) if len(meanings[fold_name(name)]) > 1}


def _elements(schema: Schema) -> Iterator[tuple[str, str, str, str]]:
    for service in schema.services:
        for kind, parts in (("slot", service.slots), ("intent", service.intents)):
            yield from ((service.name, f"{kind} {part.name}", part.name, part.description) for part in parts)


def make_element_tasks(schema: Schema, ambiguous: Collection[str]) -> list[ElementTask]:
    """Two tasks a service; what has no description cannot be named, and what is there is never shown twice."""
    tasks = []
    for service in schema.services:
        names, descriptions = tuple(_name_prompts(service)), tuple(_description_prompts(service, ambiguous))
        tasks.append(ElementTask(service.name, service.description, "names", names))
        tasks.append(ElementTask(service.name, _in_words(service.name), "descriptions", descriptions))
    return [task for task in tasks if task.prompts]


def _name_prompts(service: Service) -> Iterator[Prompt]:
    for slot in service.slots:
        if slot.description:
            yield Prompt(f"slot {slot.name}", "field", slot.description)
    for intent in service.intents:
        if intent.description:
            yield Prompt(f"intent {intent.name}", "action", intent.description)


def _description_prompts(service: Service, ambiguous: Collection[str]) -> Iterator[Prompt]:
    yield Prompt("service", "service", _in_words(service.name))
    for kind, word, parts in (("slot", "field", service.slots), ("intent", "action", service.intents)):
        for part in parts:
            key = f"{kind} {part.name}"
            example = part.description if f"{service.name}-{key}" in ambiguous else ""
            values = part.values if isinstance(part, Slot) and part.categorical else ()
            yield Prompt(key, word, _in_words(part.name), example, values)


def _in_words(name: str) -> str:
    """`RequestPayment`, `private_visibility` as a person reads it, without SGD's number behind a service's name."""
    words = split_name(name)
    return " ".join(words[:-1] if len(words) > 1 and words[-1].isdigit() else words).lower() or name


def element_problems(task: ElementTask, answers: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with what a worker wrote, by element; nothing about the original, which they must not learn."""
    problems = {}
    taken: dict[str, str] = {}
    for prompt in task.prompts:
        text = " ".join(answers.get(prompt.key, "").split())
        if problem := _problem(task.asked, prompt, text):
            problems[prompt.key] = problem
        elif task.asked == "names":
            if (folded := fold_name(text)) in taken:
                problems[prompt.key] = "another one has this name already"
            taken[folded] = prompt.key
    return problems


def _problem(asked: Asked, prompt: Prompt, text: str) -> str:
    longest = LONGEST_NAME if asked == "names" else LONGEST_DESCRIPTION
    if not fold_name(text):
        return "write something here"
    if len(text) > longest:
        return f"it has {len(text)} characters; {longest} at most"
    if asked == "descriptions" and len(text.split()) < _FEWEST_WORDS:
        return "describe it in a sentence"
    if prompt.example and text.casefold().strip(" .") == prompt.example.casefold().strip(" ."):
        return "this is the example; say it in your own words"
    return ""


def original_texts(schema: Schema) -> dict[tuple[str, str], tuple[str, str]]:
    """Service and element -> the name and the description that the schema has."""
    texts = {(service.name, "service"): (service.name, service.description) for service in schema.services}
    return texts | {(service, key): (name, text) for service, key, name, text in _elements(schema)}


class Accepted(msgspec.Struct, frozen=True):
    """A paraphrase that passed vetting."""

    service: str
    key: str
    asked: Asked
    text: str


def make_pool(accepted: Iterable[Accepted], schema: Schema) -> Pool:
    """The paraphrases as `schema_variant(pool=FILE)` takes them: names written as the schema writes its own.

    Doubles fall out, as in the paper, and so does what comes to the original again.
    """
    found: dict[str, dict[str, dict[str, list[str]]]] = {}
    originals = original_texts(schema)
    for one in accepted:
        name, description = originals.get((one.service, one.key), ("", ""))
        text = write_name(one.text, name) if one.asked == "names" else one.text
        original = name if one.asked == "names" else description
        known = found.setdefault(one.service, {}).setdefault(one.key, {"names": [], "descriptions": []})[one.asked]
        if fold_name(text) not in {fold_name(other) for other in (original, *known)}:
            known.append(text)
    return Pool({service: _service_pool(elements) for service, elements in found.items()})


def write_name(text: str, like: str) -> str:
    """A name that a person wrote, as the original is written: `pick up place` like `leave_at` -> `pick_up_place`."""
    return join_name([word.lower() for word in split_name(text)], like)


def _service_pool(elements: Mapping[str, Mapping[str, list[str]]]) -> ServicePool:
    pool = {key: Paraphrases(tuple(found["names"]), tuple(found["descriptions"])) for key, found in elements.items()}
    kinds = {
        kind: {key.removeprefix(f"{kind} "): one for key, one in pool.items() if key.startswith(f"{kind} ")}
        for kind in ("slot", "intent")
    }
    own = pool.get("service", Paraphrases())
    return ServicePool((), own.descriptions, kinds["slot"], kinds["intent"])
