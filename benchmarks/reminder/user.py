"""The user: an agenda of what is still to be said, and a reply to each move of the desk."""

from __future__ import annotations

from random import Random

from benchmarks.reminder.desk import Move
from benchmarks.reminder.draft import Draft, fill, join, with_article
from benchmarks.reminder.goals import Errand
from benchmarks.reminder.phraser import Phraser, fits_noun_phrase, is_named
from benchmarks.reminder.specs import words
from benchmarks.reminder.user_turn import Speech, UserAct
from benchmarks.reminder.values import draw_value
from dstress.dialogue import DONTCARE, State, slot_id

OPENING_SLOTS = {"terse": (1, 4), "plain": (2, 5), "chatty": (2, 6)}
VOLUNTEERS = {"terse": 0.15, "plain": 0.35, "chatty": 0.6}
MAX_REFERENCES = 2
PLEASE_WORDS = 4
DATES = ("reminders-date", "events-date")
GENERIC = ("the same", "that day")
_OTHER_TIME = {"leave_at": "arrive_by", "arrive_by": "leave_at"}
KEY_SLOTS = ("destination", "category", "cuisine")


class User:
    """A user at work on one errand. The state is passed in: it is the desk's and the user's common ground."""

    def __init__(self, errand: Errand, phraser: Phraser, rng: Random) -> None:
        self.errand, self.phraser, self.rng = errand, phraser, rng
        self.service = errand.service
        self.gone = False
        self.fallback: dict[str, str] = {}
        self.questions: list[str] = []

    def opening(self, state: State) -> Speech:
        """The first words about the errand: what it is, and as much as this user says at once."""
        speech = Speech()
        chosen = self._opening_slots(state)
        plain = {name: self._wish(name) for name in chosen if name not in self.errand.references}
        in_phrase = {name: v for name, v in plain.items() if fits_noun_phrase(self.service.slot(name), v)}
        references = [name for name in chosen if name in self.errand.references]
        tail = [self._reference(name, state) for name in references]
        phrase = self.phraser.noun_phrase(self.service, in_phrase, tail)
        speech.add(self._open(phrase, named="name" in in_phrase))
        intent = self.service.intents[-1 if "name" in plain else 0].name
        speech.acts.append(UserAct("INFORM_INTENT", self.service.name, "intent", intent))
        speech.acts += [self._informed(name, plain[name]) for name in in_phrase]
        speech.acts += [self._referred(name, state) for name in references]
        for name in plain:
            if name not in in_phrase:
                self._state(speech, name)
        return speech

    def _open(self, phrase: Draft, named: bool) -> Draft:
        bare = is_named(phrase, "-name")
        whole = phrase if bare else with_article(phrase)
        service = self.service
        texts = service.open_booking if named and service.open_booking else service.open
        if self.phraser.voice.length == "terse" and self.rng.random() < 0.7:
            texts = service.open_terse
        return fill(self.phraser.pick(texts), lambda key: phrase if key == "bare" else whole)

    def _opening_slots(self, state: State) -> list[str]:
        """Which slots the opening names, in schema order; the name of a restaurant or a task always comes first."""
        pending = [name for name in self._pending(state) if self._wish(name) != DONTCARE]
        must = [name for name in pending if name in ("name", "task")]
        must += [name for name in pending if name in KEY_SLOTS and self.rng.random() < 0.7]
        low, high = OPENING_SLOTS[self.phraser.voice.length]
        roles = ("book", "search", "alternative") if len(must) == 0 else ("book", "search", "alternative", "extra")
        rest = [name for name in pending if name not in must and self.service.slot(name).role in roles]
        rest = [name for name in rest if name not in ("car", "repeat")]
        count = min(max(self.rng.randrange(low, high + 1) - len(must), 0), len(rest))
        picked = list(must)
        for _ in range(count):
            picked.append(rest.pop(self.rng.randrange(len(rest))))
        referring = [name for name in picked if name in self.errand.references]
        late = referring[MAX_REFERENCES:]
        return [name for name in self.errand.wishes if name in picked and name not in late]

    def _pending(self, state: State) -> list[str]:
        """The wishes still to be said. References whose source has gone or cannot be told apart are forgotten."""
        useless = (DONTCARE, "1")
        usable = {n: s for n, s in self.errand.references.items() if state.get(s, useless)[0] not in useless}
        taken = {self.errand.wishes[end] for end in ("departure", "destination") if end in self.errand.wishes}
        self.errand.references = {
            n: s
            for n, s in usable.items()
            if (n != "arrive_by" or "destination" in usable)
            and self._expressions(n, s, state)
            and (self._id(n) in state or state[s][0] not in taken)
        }
        searched = [slot.name for slot in self.service.having("search")]
        settled = searched if self._id("name") in state else []
        return [name for name in self.errand.wishes if self._id(name) not in state and name not in settled]

    def _id(self, name: str) -> str:
        return slot_id(self.service.name, name)

    def _wish(self, name: str) -> str:
        return self.errand.first.get(name, self.errand.wishes[name])

    def _informed(self, name: str, value: str) -> UserAct:
        return self._act("INFORM", name, value, "set")

    def _act(self, act: str, slot: str = "", value: str = "", effect: str = "") -> UserAct:
        return UserAct(act, self.service.name, slot, value, effect)

    def _reference(self, name: str, state: State) -> Draft:
        source = self.errand.references[name]
        expressions = self._expressions(name, source, state)
        return self.phraser.reference(self.service, self.service.slot(name), expressions, state[source][0])

    def _expressions(self, name: str, source: str, state: State) -> tuple[str, ...]:
        """Ways to refer to the source; if another errand has a different value, only those that tell them apart."""
        slot = self.service.slot(name)
        others = [*slot.refer, *DATES] if slot.kind == "weekday" else slot.refer
        rivals = [state[other][0] for other in others if other in state and other != source]
        if all(rival == state[source][0] for rival in rivals):
            return slot.refer[source]
        return tuple(text for text in slot.refer[source] if not text.startswith(GENERIC))

    def _referred(self, name: str, state: State) -> UserAct:
        source = self.errand.references[name]
        self.errand.wishes[name] = state[source][0]
        return UserAct("INFORM", self.service.name, name, state[source][0], "set", source)

    def _state(self, speech: Speech, name: str) -> None:
        """A statement of its own about a slot."""
        slot, value = self.service.slot(name), self._wish(name)
        if value == DONTCARE:
            speech.add(Draft(self.phraser.pick(slot.any)), self._informed(name, DONTCARE))
        else:
            speech.add(self.phraser.statement(self.service, slot, value), self._informed(name, value))

    def reply(self, move: Move, state: State) -> Speech:
        """What the user says to a move of the desk."""
        speech = Speech()
        if move.kind == "nothing" or (self.errand.cancelled and move.kind == "request"):
            self._cancel(speech, state)
            return speech
        {
            "request": self._answer,
            "offer": self._judge_offer,
            "denied": self._judge_alternative,
            "full": self._judge_alternative,
            "confirm": self._check,
        }[move.kind](speech, move, state)
        return speech

    def _answer(self, speech: Speech, move: Move, state: State) -> None:
        self._pending(state)
        slots = tuple(self._slot_to_answer(name) for name in move.slots)
        values = {name: self._wish(name) for name in slots}
        simple = all(value != DONTCARE and name not in self.errand.references for name, value in values.items())
        both = self.phraser.together(self.service, values) if simple and len(values) > 1 else Draft("")
        if both:
            speech.add(both, *(self._informed(name, value) for name, value in values.items()))
        else:
            for name in slots:
                self._answer_one(speech, name, alone=len(values) == 1, state=state)
        if self.phraser.voice.length == "chatty" and self.rng.random() < 0.25:
            speech.lead_in(self.phraser.shared("lead"))
        elif self.phraser.voice.polite and self.rng.random() < 0.4:
            last = speech.sentences[-1]
            definite = speech.acts[-1].value not in (DONTCARE, "no", "yes")
            short = len(last.text.split()) <= PLEASE_WORDS and not last.text.endswith("?")
            if definite and short and "please" not in last.text:
                speech.sentences[-1] = join([last, Draft("please")], ", ")
        self._volunteer(speech, slots, state)
        self._change_mind(speech, state, chance=0.45)

    def _slot_to_answer(self, name: str) -> str:
        """The slot to answer with; forms a wish if the goal leaves it open, and prefers the time that matters."""
        slot = self.service.slot(name)
        if name == "leave_at" and "arrive_by" in self.errand.wishes:
            return "arrive_by"
        if name not in self.errand.wishes:
            open_value = DONTCARE if slot.any else slot.values[0]
            self.errand.wishes[name] = "no" if slot.kind == "flag" else open_value
        return name

    def _answer_one(self, speech: Speech, name: str, alone: bool, state: State) -> None:
        slot, value = self.service.slot(name), self._wish(name)
        if name in self.errand.references:
            speech.link(self._reference(name, state), self._referred(name, state))
        elif value == DONTCARE:
            general = words().user["any"] if alone else ()
            speech.add(Draft(self.phraser.pick((slot.any or words().kinds[slot.kind].any) + general)))
            speech.acts.append(self._informed(name, DONTCARE))
        elif name == "arrive_by":
            speech.add(self.phraser.statement(self.service, slot, value), self._informed(name, value))
        elif alone:
            speech.link(self.phraser.answer(self.service, slot, value), self._informed(name, value))
        else:
            clause = self.phraser.post_or_statement(self.service, slot, value)
            speech.link(clause, self._informed(name, value))

    def _volunteer(self, speech: Speech, requested: tuple[str, ...], state: State) -> None:
        mentioned = (*requested, *(act.slot for act in speech.acts))
        rest = [name for name in self._pending(state) if name not in mentioned]
        if not rest or self.rng.random() >= VOLUNTEERS[self.phraser.voice.length]:
            return
        name = self.rng.choice(rest)
        if name in self.errand.references:
            lead = self.phraser.pick(words().user["also"])
            speech.add(join([Draft(lead), self._reference(name, state)]), self._referred(name, state))
        elif self._wish(name) != DONTCARE or self.service.slot(name).any:
            self._state(speech, name)

    def _change_mind(self, speech: Speech, state: State, chance: float) -> bool:
        """Correct what was said before, or swap one kind of time for another."""
        swap = self.errand.swap
        if swap and self._id(_OTHER_TIME[swap[0]]) in state and self.rng.random() < chance:
            self._swap(speech, swap, state)
            return True
        due = [name for name, value in self.errand.first.items() if state.get(self._id(name), ("",))[0] == value]
        if not due or self.rng.random() >= chance:
            return False
        self._correct(speech, due[0], state[self._id(due[0])][0])
        return True

    def _correct(self, speech: Speech, name: str, old: str) -> None:
        self.errand.first.pop(name, None)
        value = self.errand.wishes[name]
        speech.add(
            self.phraser.change(self.service, self.service.slot(name), value, old),
            self._informed(name, value),
        )

    def _swap(self, speech: Speech, swap: tuple[str, str], state: State) -> None:
        name, value = swap
        other = _OTHER_TIME[name]
        old = state[self._id(other)][0]
        template = self.phraser.pick(self.service.slot(other).drop)
        draft = self.phraser.about(template, self.service, {other: old, name: value}, **{other: old})
        speech.add(draft, self._act("NEGATE", other, old, "drop"), self._informed(name, value))
        self.errand.swap = None
        self.errand.wishes.pop(other, None)
        self.errand.first.pop(other, None)
        self.errand.wishes[name] = value

    def _judge_offer(self, speech: Speech, move: Move, state: State) -> None:
        searched = [slot.name for slot in self.service.having("search")]
        wavering = [name for name in self.errand.first if name in searched and self._id(name) in state]
        if wavering:
            self._correct(speech, wavering[0], state[self._id(wavering[0])][0])
        elif self.errand.picky and move.slots != ("again",):
            self.errand.picky = False
            speech.add(self.phraser.shared("other_offer"), self._act("REQUEST_ALTS"))
        else:
            name = self._act("SELECT", "name", move.values["name"], "set")
            intent = self._act("INFORM_INTENT", "intent", self.service.intents[-1].name)
            speech.add(self.phraser.shared("accept_offer"), name, intent)
            self._volunteer(speech, tuple(searched), state)

    def _judge_alternative(self, speech: Speech, move: Move, state: State) -> None:
        slot = self.service.slot(move.slots[0])
        alternative = move.values["alternative"] if move.kind == "full" else move.values[slot.name]
        self.errand.first.pop(slot.name, None)
        if move.kind == "full" and self.rng.random() < 0.45:
            self._counter(speech, slot.name, alternative, state)
            return
        self.fallback[slot.name] = alternative
        affirm = self._act("AFFIRM", slot.name, alternative, "set")
        speech.add(self.phraser.shared("accept_value"), affirm)

    def _counter(self, speech: Speech, name: str, alternative: str, state: State) -> None:
        """Refuse what the desk has instead: ask for another place, or for another time or day."""
        slot, old = self.service.slot(name), state[self._id(name)][0]
        place = self._id("name")
        if place in state and self.service.slot("name").drop and self.rng.random() < 0.5:
            taken = state[place][0]
            draft = self.phraser.about(
                self.phraser.pick(self.service.slot("name").drop), self.service, {"name": taken}, name=taken
            )
            speech.add(draft, self._act("NEGATE", "name", taken, "drop"))
            speech.acts.append(self._act("REQUEST_ALTS"))
            self.errand.picky = False
            return
        value = draw_value(slot, self.phraser.split, self.rng, (old, alternative))
        self.fallback[name] = value
        speech.add(self.phraser.shared("refuse_value"), self._act("NEGATE"))
        speech.add(self.phraser.answer(self.service, slot, value), self._informed(name, value))

    def _check(self, speech: Speech, move: Move, state: State) -> None:
        """Answer a confirmation: agree, repair what the desk misheard, or change one's mind at the last moment."""
        negate = self._act("NEGATE")
        if move.wrong:
            speech.add(self.phraser.shared("negate"), negate)
            self._repair(speech, move, state)
        elif self._change_mind(speech, state, chance=1.0):
            speech.acts.insert(0, negate)
            if self.rng.random() < 0.5:
                speech.lead_in(self.phraser.shared("waver"))
        else:
            speech.add(self.phraser.shared("affirm"), self._act("AFFIRM"))

    def _repair(self, speech: Speech, move: Move, state: State) -> None:
        slot = self.service.slot(move.wrong)
        texts = words().user["repair_count" if slot.noun else "repair"]
        hesitant = self.errand.first.pop(slot.name, None) is not None
        value = self.errand.wishes[slot.name] if hesitant else state[self._id(slot.name)][0]
        if value == move.values[slot.name]:
            value = state[self._id(slot.name)][0]
        draft = self.phraser.about(
            self.phraser.pick(texts), self.service, {slot.name: value}, **{slot.name: move.values[slot.name]}
        )
        speech.add(draft, self._informed(slot.name, value))

    def _cancel(self, speech: Speech, state: State) -> None:
        self.gone = True
        speech.add(Draft(self.phraser.pick(self.service.cancel)), self._act("NEGATE_INTENT"))
        for slot in self.service.slots:
            if self._id(slot.name) in state:
                speech.acts.append(self._act("NEGATE", slot.name, state[self._id(slot.name)][0], "drop"))

    def ask(self, questions: tuple[str, ...]) -> Speech:
        """Request facts; nothing changes in the state."""
        speech = Speech()
        self.questions += questions
        for name in questions:
            draft = Draft(self.phraser.pick(self.service.slot(name).request))
            lead = Draft(self.phraser.pick(words().user["also"])) if speech.sentences else Draft("")
            speech.add(join([lead, draft]), self._act("REQUEST", name))
        return speech

    def amend(self, speech: Speech, state: State) -> bool:
        """Change a booking of this errand while talking about a later one."""
        if not self.errand.amendment or self.gone:
            return False
        name, value = self.errand.amendment
        self.errand.amendment = None
        slot = self.service.slot(name)
        if state.get(self._id(name), ("",))[0] in ("", value):
            return False
        self.errand.wishes[name] = value
        spoken = join([self.phraser.value(self.service, slot, value), Draft(slot.noun[1] if slot.noun else "")])
        template = self.phraser.pick(self.service.amend)
        speech.add(
            fill(template, lambda key: spoken if key == "v" else Draft(self.service.amend_what)),
            self._informed(name, value),
        )
        return True
