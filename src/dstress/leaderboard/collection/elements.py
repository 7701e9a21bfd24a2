"""SGD-X's blind paraphrasing of schema elements (Lee et al. 2022, section 2.1).

A worker gets one service and writes either all names, from the descriptions alone, or all descriptions, from the names.
The original of what is asked for is not shown: that is what makes paraphrases diverse. As in the paper, a name that is
ambiguous by itself comes with its description as an example, and a categorical slot with its possible values. Service
names are not asked for; the paper did not paraphrase them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from dstress.dialogue import Schema, Slot
from dstress.stressors.schema.variant import Paraphrases, Pool, ServicePool
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

    @property
    def key(self) -> str:
        """What tells it from the other tasks of a collection."""
        return f"{self.service} {self.asked}"

    @property
    def names(self) -> dict[str, str]:
        """What is to be written: a number -> the element. Its own name is what the worker must not see."""
        return {str(number): prompt.key for number, prompt in enumerate(self.prompts, start=1)}

    @property
    def asks(self) -> dict[str, Any]:
        """What a worker may see: nothing that is asked for."""
        fields = ("kind", "shown", "example", "values")
        prompts = [{name: getattr(prompt, name) for name in fields} for prompt in self.prompts]
        return {"asked": self.asked, "about": self.about, "prompts": prompts}

    def problems(self, texts: Mapping[str, str]) -> dict[str, str]:
        """What is wrong with what a worker wrote, by number; nothing about the original, which they must not learn."""
        problems = {}
        folded_names: set[str] = set()
        longest = LONGEST_NAME if self.asked == "names" else LONGEST_DESCRIPTION
        for name, prompt in zip(self.names, self.prompts, strict=True):
            text = " ".join(texts.get(name, "").split())
            folded = fold_name(text)
            if not folded:
                problems[name] = "write something here"
            elif len(text) > longest:
                problems[name] = f"it has {len(text)} characters; {longest} at most"
            elif self.asked == "descriptions" and len(text.split()) < _FEWEST_WORDS:
                problems[name] = "describe it in a sentence"
            elif prompt.example and text.casefold().strip(" .") == prompt.example.casefold().strip(" ."):
                problems[name] = "this is the example; say it in your own words"
            elif self.asked == "names":
                if folded in folded_names:
                    problems[name] = "another one has this name already"
                folded_names.add(folded)
        return problems


def _elements(schema: Schema) -> Iterator[tuple[str, str, str, str]]:
    for service in schema.services:
        for kind, parts in (("slot", service.slots), ("intent", service.intents)):
            yield from ((service.name, f"{kind} {part.name}", part.name, part.description) for part in parts)


def make_element_tasks(schema: Schema) -> list[ElementTask]:
    """Two tasks a service; what has no description cannot be named, and what is there is never shown twice.

    A name that has another description in another service does not say enough by itself, and comes with its own. The
    paper's authors chose these by hand.
    """
    meanings: dict[str, set[str]] = {}
    for _, _, name, description in _elements(schema):
        meanings.setdefault(fold_name(name), set()).add(description)
    tasks = []
    for service in schema.services:
        shown = _in_words(service.name)
        names, descriptions = [], [Prompt("service", "service", shown)]
        for kind, word, parts in (("slot", "field", service.slots), ("intent", "action", service.intents)):
            for part in parts:
                key = f"{kind} {part.name}"
                if part.description:
                    names.append(Prompt(key, word, part.description))
                example = part.description if len(meanings[fold_name(part.name)]) > 1 else ""
                values = part.values if isinstance(part, Slot) and part.categorical else ()
                descriptions.append(Prompt(key, word, _in_words(part.name), example, values))
        tasks.append(ElementTask(service.name, service.description, "names", tuple(names)))
        tasks.append(ElementTask(service.name, shown, "descriptions", tuple(descriptions)))
    return [task for task in tasks if task.prompts]


def _in_words(name: str) -> str:
    """`RequestPayment`, `private_visibility` as a person reads it, without SGD's number behind a service's name."""
    words = split_name(name)
    return " ".join(words[:-1] if len(words) > 1 and words[-1].isdigit() else words).lower() or name


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
    texts: dict[str, dict[str, dict[str, list[str]]]] = {}
    originals = original_texts(schema)
    for paraphrase in accepted:
        name, description = originals.get((paraphrase.service, paraphrase.key), ("", ""))
        text = write_name(paraphrase.text, name) if paraphrase.asked == "names" else paraphrase.text
        original = name if paraphrase.asked == "names" else description
        elements = texts.setdefault(paraphrase.service, {})
        kept = elements.setdefault(paraphrase.key, {"names": [], "descriptions": []})[paraphrase.asked]
        if fold_name(text) not in {fold_name(other) for other in (original, *kept)}:
            kept.append(text)
    services = {}
    for service, elements in texts.items():
        pool = {key: Paraphrases(tuple(own["names"]), tuple(own["descriptions"])) for key, own in elements.items()}
        slots, intents = (
            {key.removeprefix(kind): one for key, one in pool.items() if key.startswith(kind)}
            for kind in ("slot ", "intent ")
        )
        services[service] = ServicePool((), pool.get("service", Paraphrases()).descriptions, slots, intents)
    return Pool(services)


def write_name(text: str, like: str) -> str:
    """A name that a person wrote, as the original is written: `pick up place` like `leave_at` -> `pick_up_place`."""
    return join_name([word.lower() for word in split_name(text)], like)
