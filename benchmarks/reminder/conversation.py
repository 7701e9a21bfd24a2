"""The conversation: user and desk take turns, and every utterance is written down with what it did to the state."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from msgspec.structs import replace

from benchmarks.reminder.clerk import Clerk, SystemTurn
from benchmarks.reminder.desk import Desk, Move
from benchmarks.reminder.draft import Draft, Mark, join, polish, with_article
from benchmarks.reminder.goals import Errand, draw_errands
from benchmarks.reminder.phraser import Phraser, is_named
from benchmarks.reminder.specs import ServiceSpec, services, words
from benchmarks.reminder.user import User
from benchmarks.reminder.user_turn import Speech, UserAct
from benchmarks.reminder.values import SYSTEM_VOICE, draw_voice
from dstress.dialogue import DONTCARE, Act, Coreference, Dialogue, Frame, Goal, Span, State, Turn, slot_id

DIGRESSION = 0.07
MAX_DIGRESSIONS = 2
MAX_MOVES = 30


class Conversation:
    """One dialogue as it happens."""

    def __init__(self, split: str, rng: Random) -> None:
        self.split, self.rng = split, rng
        self.phraser = Phraser(split, rng, draw_voice(rng))
        self.clerk = Clerk(split, rng)
        self.state: State = {}
        self.set_in: dict[str, int] = {}
        self.turns: list[Turn] = []
        self.system = SystemTurn()
        self.intents: dict[str, str] = {}
        self.chat = list(words().chat["test" if split == "test" else "train"])
        self.digressions = 0
        self.users: list[User] = []
        self.booked_after: dict[str, int] = {}
        """The turn that the desk answers with a service's reference."""

    def run(self, name: str) -> Dialogue:
        """Hold the conversation."""
        errands = draw_errands(self.split, self.rng)
        for errand in errands:
            self._run_errand(errand)
        service = errands[-1].service
        speech = Speech([self.phraser.shared("bye")])
        speech.acts += [UserAct("THANK_YOU", service.name), UserAct("GOODBYE", service.name)]
        self._commit(speech)
        used = tuple(errand.service.name for errand in errands)
        closing = polish([Draft(Random(f"closing:{name}").choice(words().system["bye"]))], SYSTEM_VOICE).text
        farewell = (Frame(service.name, acts=(Act("GOODBYE"),)),)
        turns = tuple(
            replace(turn, booked=tuple(name for name, first in self.booked_after.items() if first <= place))
            for place, turn in enumerate(self.turns)
        )
        return Dialogue(name, turns, used, self._goal(), closing, farewell)

    def _run_errand(self, errand: Errand) -> None:
        user = User(errand, self.phraser, self.rng)
        desk = Desk(errand.service, self.split, self.rng)
        speech = user.opening(self.state)
        self._introduce(speech)
        self.users.append(user)
        self._commit(speech)
        before: list[Draft] = []
        for _ in range(MAX_MOVES):
            move = desk.next_move(self.state)
            self._say(errand.service, move, before)
            if move.kind == "booked":
                if any("{reference}" in text for text in errand.service.success):
                    self.booked_after[errand.service.name] = len(self.turns) - 1
                # Questions about what has been booked come all at once or one by one.
                together = len(errand.questions) > 1 and self.rng.random() < 0.5
                for group in [errand.questions] if together else [(question,) for question in errand.questions]:
                    self._commit(user.ask(group))
                    self.system = self.clerk.speak(user.service, desk.answer(group, self.state))
                return
            before = self._exchange(user, desk, move)
            if user.gone:
                dropped = [self.clerk.line("cancelled")]
                self.system = self.clerk.courtesy(errand.service, "more", "REQ_MORE", dropped)
                return
        raise RuntimeError(f"the conversation about {errand.service.name} does not end")

    def _say(self, service: ServiceSpec, move: Move, before: list[Draft]) -> None:
        denied = self.state[slot_id(service.name, move.slots[0])][0] if move.kind == "denied" else ""
        bad_news = move.kind in ("full", "denied", "nothing")
        fitting = [line for line in before if not (bad_news and line.text in words().system["ack"])]
        self.system = self.clerk.speak(service, move, denied, fitting)

    def _introduce(self, speech: Speech) -> None:
        """Greet at the start; later thank for the last booking and turn to the next."""
        terse = self.phraser.voice.length == "terse"
        if not self.turns:
            if self.rng.random() < (0.2 if terse else 0.6):
                speech.lead_in(self.phraser.shared("hello"))
            return
        if self.rng.random() < 0.5:
            speech.lead_in(self.phraser.shared("next"))
        if self.rng.random() < 0.7:
            speech.sentences.insert(0, self.phraser.shared("thanks"))
            speech.acts.insert(0, UserAct("THANK_YOU", speech.acts[0].service))

    def _exchange(self, user: User, desk: Desk, move: Move) -> list[Draft]:
        """The user's side of a move. Returns what the desk says first in its next turn."""
        if self.digressions < MAX_DIGRESSIONS and self.rng.random() < DIGRESSION:
            self.digressions += 1
            remark = self.chat.pop(self.rng.randrange(len(self.chat)))
            self._commit(Speech([Draft(remark)], ood=True))
            self._say(user.service, move, [self.clerk.line("off_topic"), self.clerk.line("resume")])
        if move.kind == "offer" and user.errand.questions and self.rng.random() < 0.35:
            self._ask_about_offer(user, desk, move)
        speech = user.reply(move, self.state)
        amended = False
        referring = any(act.source for act in speech.acts)
        if not user.gone and not referring and move.kind == "request" and self.rng.random() < 0.5:
            amended = any(earlier.amend(speech, self.state) for earlier in self.users[:-1])
        self._commit(speech)
        desk.refused += [act.value for act in speech.acts if act.slot == "name" and act.effect == "drop"]
        if amended:
            return [self.clerk.line("amended")]
        if move.kind == "confirm" and speech.acts[0].act == "NEGATE":
            return [self.clerk.line("sorry")]
        return [self.clerk.line("ack")] if move.kind == "request" else []

    def _ask_about_offer(self, user: User, desk: Desk, move: Move) -> None:
        question, user.errand.questions = user.errand.questions[:1], user.errand.questions[1:]
        self._commit(user.ask(question))
        answer = self.clerk.speak(user.service, desk.answer(question, self.state))
        still = self.clerk.line("still")
        name = Act("OFFER", "name", (move.values["name"],), (move.values["name"],))
        frame = answer.frames[0]
        frames = (Frame(frame.service, spans=frame.spans, acts=(*frame.acts, name)),)
        self.system = SystemTurn(f"{answer.text} {still.text}", frames)

    def _commit(self, speech: Speech) -> None:
        """Write the turn down: the utterance, its frames, and the state after it."""
        draft = polish(speech.sentences, self.phraser.voice)
        marks = {mark.slot: mark for mark in draft.marks}
        coreferences = []
        for act in speech.acts:
            if act.source:
                mark = marks[slot_id(act.service, act.slot)]
                expression = draft.text[mark.start : mark.end]
                coreferences.append(Coreference(mark.slot, expression, act.value, self.set_in[act.source]))
        for act in speech.acts:
            self._apply(act, marks, draft.text)
        services = dict.fromkeys(act.service for act in speech.acts)
        turn = Turn(
            user=draft.text,
            system=self.system.text,
            state=dict(self.state),
            frames=tuple(self._frame(service, speech.acts, draft) for service in services),
            system_frames=self.system.frames,
            coreferences=tuple(coreferences),
            ood=speech.ood,
        )
        self.turns.append(turn)

    def _apply(self, act: UserAct, marks: Mapping[str, Mark], text: str) -> None:
        """Let an act change the intents and the state."""
        slot = slot_id(act.service, act.slot)
        if act.act == "INFORM_INTENT":
            self.intents[act.service] = act.value
        elif act.act == "NEGATE_INTENT":
            self.intents[act.service] = ""
        if act.effect == "drop":
            self.state.pop(slot, None)
        elif act.effect == "set" and self.state.get(slot, ("",))[0] != act.value:
            if act.source:
                self.state[slot] = self.state[act.source]
            else:
                mark = marks.get(slot)
                categorical = services()[act.service].slot(act.slot).categorical
                spoken = text[mark.start : mark.end] if mark and not categorical else act.value
                self.state[slot] = tuple(dict.fromkeys((act.value, spoken)))
            self.set_in[slot] = len(self.turns)

    def _frame(self, service: str, user_acts: list[UserAct], draft: Draft) -> Frame:
        own = [act for act in user_acts if act.service == service]
        marks = [mark for mark in draft.marks if mark.slot.startswith(f"{service}-")]
        by_slot = {mark.slot: draft.text[mark.start : mark.end] for mark in marks}
        acts = tuple(
            Act(
                act.act,
                act.slot,
                (by_slot.get(slot_id(service, act.slot), act.value),) if act.value else (),
                (act.value,) if act.value else (),
            )
            for act in own
        )
        spans = tuple(Span(m.slot.partition("-")[2], m.start, m.end) for m in marks if not m.refer)
        requested = tuple(act.slot for act in own if act.act == "REQUEST")
        return Frame(service, self.intents.get(service, ""), requested, spans, acts)

    def _goal(self) -> Goal:
        inform: State = {}
        fallback: State = {}
        request: list[str] = []
        for user in [user for user in self.users if not user.gone]:
            name = user.service.name
            for slot, wish in self._spoken_wishes(user).items():
                settled = self.state[slot_id(name, slot)][0]
                inform[slot_id(name, slot)] = (settled,)
                if settled != wish:
                    fallback[slot_id(name, slot)] = (wish,)
            request += [slot_id(name, slot) for slot in user.questions]
        narrator = Phraser("train", self.rng)
        description = join([self._describe_errand(user, narrator) for user in self.users]).text
        return Goal(description, inform, fallback, tuple(request))

    def _spoken_wishes(self, user: User) -> dict[str, str]:
        """The wishes that came up; a change of mind that never came up did not happen."""
        final = user.errand.wishes | user.errand.first
        return {name: value for name, value in final.items() if slot_id(user.service.name, name) in self.set_in}

    def _describe_errand(self, user: User, narrator: Phraser) -> Draft:
        goal = words().goal
        wishes = {name: value for name, value in self._spoken_wishes(user).items() if value != DONTCARE}
        phrase = narrator.noun_phrase(user.service, wishes)
        text = (phrase if is_named(phrase, "-name") else with_article(phrase)).text.replace(" my ", " your ")
        parts = [Draft(narrator.pick(goal.wants).replace("{np}", text))]
        questions = []
        for name in user.questions:
            description = user.service.slot(name).description
            question = description[0].lower() + description[1:]
            questions.append(question if question.startswith(("how", "when")) else f"the {question}")
        if questions:
            parts.append(Draft(goal.asks.replace("{what}", " and ".join(questions))))
        if user.fallback:
            parts.append(Draft(goal.fails))
        return polish(parts, SYSTEM_VOICE)
