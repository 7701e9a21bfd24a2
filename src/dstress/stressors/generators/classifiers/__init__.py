"""Slot classifiers: filters against utterances that say more than they should.

Learning (`prepare`, once):

    training corpus
      -> examples       each exchange with the slots that its user speaks about; some dialogues are held out
      -> unseen_values  the same once more with made-up values, as those of a counterfactual are new
      -> linear         features (of words in which `delexical` puts kinds for values) into a logistic regression
         encoder        or texts into an encoder_network, whose weights are kept in a folder
      -> break_even     the line between the slots that are spoken about and the others, by what was held out

Classifying (`slots`): exchanges -> logits of all slots -> those from the threshold on.
"""

from __future__ import annotations

from dstress.registry import Registry
from dstress.stressors.generators.classifiers.base import Exchange, SlotClassifier

classifiers = Registry(
    "classifier",
    SlotClassifier,
    {
        "encoder": "dstress.stressors.generators.classifiers.encoder:Encoder",
        "linear": "dstress.stressors.generators.classifiers.linear:Linear",
    },
)

__all__ = ["Exchange", "SlotClassifier", "classifiers"]
