"""Dialogues, schemas and corpora as tables, for notebooks."""

from __future__ import annotations

from dstress.corpora.base import Corpus, CorpusTurns
from dstress.dialogue import Dialogue, Schema, first_forms
from dstress.display import make_tables
from dstress.reports.tables import Table

_EXAMPLES = 5


@make_tables.register
def dialogue_tables(dialogue: Dialogue) -> dict[str, Table]:
    """What was said, turn by turn, and what each turn changed in the state."""
    turns = list(zip(dialogue.turns, dialogue.updates(), strict=True))
    rows = []
    for number, (turn, update) in enumerate(turns):
        changes = (f"{slot} = {forms[0]}" if forms else f"{slot} is dropped" for slot, forms in update.items())
        rows.append((str(number), turn.system, turn.user, "\n".join(changes)))
    records = [
        {"turn": number, "system": turn.system, "user": turn.user, "state": first_forms(turn.state)}
        for number, (turn, _) in enumerate(turns)
    ]
    return {"turns": Table(("#turn", "system", "user", "changes in the state"), rows, records=records)}


@make_tables.register
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


@make_tables.register
def turn_tables(turns: CorpusTurns) -> dict[str, Table]:
    """Every turn of a corpus, as plain values."""
    records = [
        {"dialogue": dialogue.id, "turn": number, "system": turn.system, "user": turn.user}
        | {"state": first_forms(turn.state)}
        for dialogue in turns.corpus
        for number, turn in enumerate(dialogue.turns)
    ]
    rows = [[str(value) for value in record.values()] for record in records]
    return {"turns": Table(("dialogue", "#turn", "system", "user", "state"), rows, records=records)}


@make_tables.register
def corpus_tables(corpus: Corpus) -> dict[str, Table]:
    """The services; dialogues are not read for it."""
    services = corpus.schema.services
    rows = [(service.name, str(len(service.slots)), service.description) for service in services]
    records = [{"service": s.name, "slots": len(s.slots), "description": s.description} for s in services]
    return {"services": Table(("service", "#slots", "description"), rows, records=records)}
