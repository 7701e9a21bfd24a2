"""The `templates` generator: user utterances of a training corpus without their values, chosen, joined and filled.

Learning (`learning.learn`, once):

    training corpus
      -> delexical     utterances with placeholders: "in the [hotel-area] , please ."
      -> selection     those that say their slots and nothing else
      -> learning      whole utterances, further sentences and phrases, and how usual each is
      -> library       templates by the slots that they say; those of similar slots for those that training lacks

Generating (`generator.Templates.generate`, for each request):

    system turn and goal
      -> system_acts   what the system turn does: it asks for a slot, offers to book, fails ...
      -> composition   phrasings: a template that says the whole goal, or several joined
      -> generator     values in place of the placeholders; capitals and blanks as the corpus at hand has them
      -> candidates

`tokens` is how all of them see text.
"""
