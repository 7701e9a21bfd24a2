"""A tracker without a fault: what a perfect score looks like, and how much an engine costs by itself."""

from __future__ import annotations

from collections.abc import Sequence

from dstress.dialogue import first_forms
from dstress.predictions.base import Prediction
from dstress.trackers.base import Answer, Context, Tracker


class Gold(Tracker):
    """Answers with the gold state, intent, out-of-domain flag and response: the ceiling."""

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        """The preferred form of every gold value; where gold does not say what a turn intends, neither does this."""
        return [self._answer(context) for context in contexts]

    def _answer(self, context: Context) -> Prediction:
        turn, (response, domains) = context.gold, context.gold_response
        intent = next((frame.intent for frame in turn.frames if frame.intent), None)
        return Prediction(
            context.dialogue,
            context.turn,
            first_forms(turn.state),
            intent=intent,
            response=response,
            ood=turn.ood,
            domains=domains,
            calls=None if turn.calls is None else tuple(call.plain() for call in turn.calls),
        )
