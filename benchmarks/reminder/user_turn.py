"""One user utterance on its way: its sentences, and the acts that they do to the dialogue state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from benchmarks.reminder.draft import Draft, join

SHORT_WORDS = 6


class UserAct(NamedTuple):
    """One act of a user. `effect` is what it does to the state: `set` the slot, `drop` it, or nothing."""

    act: str
    service: str
    slot: str = ""
    value: str = ""
    effect: str = ""
    source: str = ""


@dataclass
class Speech:
    """What a user says in one turn."""

    sentences: list[Draft] = field(default_factory=list)
    acts: list[UserAct] = field(default_factory=list)
    ood: bool = False

    def add(self, draft: Draft, *acts: UserAct) -> None:
        """Say one more sentence."""
        if draft:
            self.sentences.append(draft)
        self.acts += acts

    def link(self, draft: Draft, *acts: UserAct) -> None:
        """Say one more clause, in the same sentence if both are short: `Friday, at 7 pm`."""
        last = self.sentences[-1] if self.sentences else Draft("")
        if last and not last.text.endswith("?") and len((last.text + draft.text).split()) <= SHORT_WORDS:
            self.sentences[-1] = join([last, draft], ", ")
            self.acts += acts
        else:
            self.add(draft, *acts)

    def lead_in(self, opener: Draft) -> None:
        """Put an opener such as a greeting in front."""
        if self.sentences:
            self.sentences[0] = join([opener, self.sentences[0]], ", ")
        else:
            self.sentences.append(opener)
