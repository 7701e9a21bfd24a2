"""Dialogues, schemas and corpora as tables, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from dstress.dialogue import Dialogue, Schema, State, first_forms
from dstress.reports.tables import Table

_EXAMPLES = 5


class _WithSchema(Protocol):
    @property
    def schema(self) -> Schema: ...


def dialogue_tables(dialogue: Dialogue) -> dict[str, Table]:
    """What was said, turn by turn, and what each turn changed in the state."""
    turns = list(zip(dialogue.turns, dialogue.updates(), strict=True))
    rows = [
        (str(number), turn.system, turn.user, "\n".join(_changes(update)))
        for number, (turn, update) in enumerate(turns)
    ]
    records = [
        {"turn": number, "system": turn.system, "user": turn.user, "state": first_forms(turn.state)}
        for number, (turn, _) in enumerate(turns)
    ]
    return {"turns": Table(("#turn", "system", "user", "changes in the state"), rows, records=records)}


def _changes(update: State) -> Iterable[str]:
    for slot, forms in update.items():
        yield f"{slot} = {forms[0]}" if forms else f"{slot} is dropped"


def schema_tables(schema: Schema) -> dict[str, Table]:
    """Every slot."""
    rows, records = [], []
    for service in schema.services:
        for slot in service.slots:
            examples = ", ".join(slot.values[:_EXAMPLES]) + (" ..." if len(slot.values) > _EXAMPLES else "")
            rows.append((service.name, slot.name, "yes" if slot.categorical else "no", examples, slot.description))
            records.append(
                {
                    "service": service.name,
                    "slot": slot.name,
                    "categorical": slot.categorical,
                    "values": len(slot.values),
                    "description": slot.description,
                }
            )
    return {"slots": Table(("service", "slot", "categorical", "values", "description"), rows, records=records)}


def corpus_tables(corpus: _WithSchema) -> dict[str, Table]:
    """The services; dialogues are not read for it."""
    services = corpus.schema.services
    rows = [(service.name, str(len(service.slots)), service.description) for service in services]
    records = [{"service": s.name, "slots": len(s.slots), "description": s.description} for s in services]
    return {"services": Table(("service", "#slots", "description"), rows, records=records)}
