"""Any tracker as a dialogue system, with no training: it looks into the database and answers from templates.

Responses hold placeholders, as mwzeval reads them. It offers a name or a train whenever the state of a service changes,
tells each fact that is asked for, books once all is known, and else asks for what is missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from dstress.conventions.venues import BOOKING, Venues, constraints_of
from dstress.corpora.base import Corpus
from dstress.dialogue import Service, service_of, slot_id
from dstress.errors import DstressError
from dstress.predictions.base import Prediction
from dstress.resources import Resources
from dstress.spec import ComponentSpec
from dstress.text.placeholders import NAME, REFERENCE, Placeholders
from dstress.text.tables import read_table
from dstress.trackers import create
from dstress.trackers.base import Answer, Context, Failed, Tracker
from dstress.trackers.rules.tracker import Rules
from dstress.trackers.rules.turn_evidence import TurnEvidence, find_facts, find_service, is_out_of_domain
from dstress.trackers.rules.words import pattern

_JOURNEY = ("departure", "destination")
_LAST_WORDS = frozenset({"bye", "goodbye", "all"})
_MOST_ASKED = 2


class Policy(Tracker):
    """A dialogue system: the state of any tracker, as in `policy(rules)`, the database and templates; no training."""

    sequential = True

    def __init__(self, tracker: str | ComponentSpec) -> None:
        self.tracker = create(str(tracker))
        self.batch, self.priced = self.tracker.batch, self.tracker.priced
        self._reader = Rules()

    def check(self, variants: Sequence[str]) -> None:
        """What the tracker cannot answer, neither can this."""
        self.tracker.check(variants)

    def check_corpus(self, resources: Resources) -> None:
        """What the tracker cannot answer, neither can this."""
        self.tracker.check_corpus(resources)

    def prepare(self, resources: Resources) -> None:
        """Prepare the tracker, and open the database."""
        super().prepare(resources)
        self.tracker.prepare(resources)
        self._reader.prepare(resources)
        database = resources.corpus.database if isinstance(resources.corpus, Corpus) else None
        if database is None:
            fix = "import it again from a source with files such as hotel_db.json, or try it on `reminder`"
            raise DstressError("the corpus has no database, in which a policy could look anything up", fix=fix)
        self._venues, self._placeholders = Venues(database), Placeholders(resources.schema)

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        """The tracker's answers, each with a response."""
        return [self._answer(*pair) for pair in zip(contexts, self.tracker.track(contexts), strict=True)]

    def _answer(self, context: Context, tracked: Answer) -> Answer:
        if isinstance(tracked, Failed):
            return tracked
        if not isinstance(tracked, Prediction):
            tracked = Prediction(context.dialogue, context.turn, dict(tracked))
        turn, state = self._reader.read_turn(context), tracked.state
        # A question for a fact is about what it names, as in "a ticket for the trip".
        asks_only = state == turn.state and turn.user.services and find_facts(turn.user)
        service = self.schema.by_name.get(turn.user.services[-1].name if asks_only else find_service(turn, state))
        foreign = is_out_of_domain(turn, state) if tracked.ood is None else tracked.ood
        if foreign or service is None:
            response = _templates()["foreign"] if foreign else self._courtesy(turn)
        else:
            response = self._respond(_Request(service, turn, state))
        domains = (service.name,) if service and not foreign else ()
        return msgspec.structs.replace(tracked, response=response, domains=domains)

    def _respond(self, request: _Request) -> str:
        """Book, or offer and ask for what a booking needs; and tell the facts that the user asked for."""
        service, sentences = request.service, []
        if request.is_settled:
            return self._courtesy(request.turn)
        # What is offered is a row of the database; a service without one has nothing to choose from.
        kind = self._venues.placeholder(service.name)
        name = self._placeholder(service, kind.lower()) if kind else ""
        wishes = [fact for fact in find_facts(request.turn.user) if fact not in request.filled]
        facts = [text for fact in wishes if (text := self._fact(service, fact))]
        if name and not self._venues.find(service.name, request.constraints):
            sentences = [_say("nothing", self._words_for(service))]
        elif request.books and not request.lacks:
            if request.changed or not facts:
                reference = self._placeholder(service, REFERENCE.lower())
                words = "named" if name and reference else self._words_for(service)
                sentences = [_say("booked", words, name=name, reference=reference)]
        else:
            if name and (request.searched or not (facts or request.books)):
                columns = [column for column in request.constraints if column in _templates()["known"]]
                shown = " ".join(_say("known", each, value=self._placeholder(service, each)) for each in columns)
                sentences = [" ".join(_say("offer", self._words_for(service), name=name, known=shown).split())]
            if request.books or not name:
                lacks = request.lacks[:_MOST_ASKED]
                sentences += [_say("ask", slot, slot=slot.replace("_", " ")) for slot in lacks]
        return " ".join([*sentences, *facts]) or self._courtesy(request.turn)

    def _courtesy(self, turn: TurnEvidence) -> str:
        texts, user = _templates(), turn.user.text
        if pattern("declines").search(user) or not _LAST_WORDS.isdisjoint(user.split()):
            return str(texts["bye"])
        return str(texts["more"] if turn.state else texts["open"])

    def _fact(self, service: Service, fact: str) -> str:
        """A sentence that tells a fact, if the service has it."""
        columns = {column for row in self._venues.database.tables.get(service.name, ())[:1] for column in row}
        columns |= {slot.name for slot in service.slots} | {*service.requestable}
        columns |= {REFERENCE.lower()} if any(slot.name.startswith(BOOKING) for slot in service.slots) else set()
        if fact not in columns or not (value := self._placeholder(service, fact)):
            return ""
        return _say("tell", fact, fact=fact, value=value)

    def _words_for(self, service: Service) -> str:
        """The key of a service's templates: a service of another corpus is not MultiWOZ's, whatever it is called."""
        return "any" if service.name in self._placeholders.custom_services else service.name

    def _placeholder(self, service: Service, slot: str) -> str:
        name = self._placeholders.name(service.name, slot)
        return f"[{name}]" if name else ""

    def fingerprint(self) -> str:
        """The tracker's own, and the rules and words of the answers."""
        made_of = (super().fingerprint(), self.tracker.fingerprint(), self._reader.fingerprint(), repr(_templates()))
        return hashlib.sha256("\0".join(made_of).encode()).hexdigest()[:16]

    def reads(self, train: str) -> tuple[str, ...]:
        """What the tracker learns from."""
        return self.tracker.reads(train)

    def usage(self) -> dict[str, float]:
        """What the tracker's answers cost."""
        return self.tracker.usage()

    def close(self) -> None:
        """Let the tracker go."""
        self.tracker.close()


class _Request(NamedTuple):
    """A turn about a service, and the state after it."""

    service: Service
    turn: TurnEvidence
    state: Mapping[str, str]

    @property
    def filled(self) -> dict[str, str]:
        """The service's part of the state, by bare slot names."""
        return {slot.partition("-")[2]: v for slot, v in self.state.items() if service_of(slot) == self.service.name}

    @property
    def constraints(self) -> dict[str, str]:
        """What to look for in the database, by column, in canonical form."""
        return constraints_of(self.state).get(self.service.name, {})

    @property
    def needed(self) -> list[str]:
        """What a booking needs, by bare names: the slots for it, or what the schema requires."""
        slots = [slot.name for slot in self.service.slots]
        booking = [intent for intent in self.service.intents if intent.transactional]
        needed = [slot for slot in slots if slot.startswith(BOOKING)]
        needed = needed or [slot for intent in booking for slot in intent.required if slot != NAME.lower()]
        return needed or [slot for slot in _JOURNEY if booking and slot in slots]

    @property
    def lacks(self) -> list[str]:
        """What of it the user has not said."""
        return [slot.removeprefix(BOOKING) for slot in self.needed if slot not in self.filled]

    @property
    def books(self) -> bool:
        """Whether the user is about to book: by words, or by a slot of the booking."""
        has_begun = any(slot in self.needed for slot in self.filled)
        return bool(self.needed) and (has_begun or bool(pattern("books").search(self.turn.user.text)))

    @property
    def changed(self) -> list[str]:
        """The service's slots that the turn has changed, by bare names."""
        before = self.turn.state
        return [slot for slot, value in self.filled.items() if before.get(slot_id(self.service.name, slot)) != value]

    @property
    def searched(self) -> bool:
        """Whether the turn has changed what is looked for."""
        return any(not slot.startswith(BOOKING) for slot in self.changed)

    @property
    def is_settled(self) -> bool:
        """Whether the user only says thanks or bye."""
        user = self.turn.user
        return not (self.changed or user.about) and bool(pattern("courtesies").search(user.text))


def _templates() -> dict[str, Any]:
    """The words of the answers."""
    return read_table(__package__, "templates.toml")


def _say(what: str, key: str, **values: str) -> str:
    """A template with values in it, that of the key or of any."""
    texts = _templates()[what]
    return str(texts[key if key in texts else "any"]).format(**values)
