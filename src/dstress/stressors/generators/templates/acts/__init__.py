"""Templates where users' turns have acts, as SGD's: what a turn does is known, and where it says its values.

training corpus, or the corpus at hand for services that training lacks
  -> turns         what a turn does: it gives slots, opens an intent, takes an offer, says no;
                   its words without their values: "I need a table for [party_size] on [date]."
  -> learning      templates by what they do; openers, whole utterances, further sentences
a goal, and the turn in whose place it is said
  -> composition   words that do what the turn does and say the goal, in the corpus's own writing
"""
