"""The `templates` generator: user utterances of a training corpus without their values, chosen, joined and filled.

Learning (`training.learn`, once):

    training corpus
      -> delexical     utterances with placeholders: "in the [hotel-area] , please ."
      -> selection     those that say their slots and nothing else
      -> extraction    whole utterances, further sentences and phrases, with their `scores`
      -> library       templates by the slots that they say
      -> unseen_slots  templates of similar slots for those that training does not have

Generating (`generator.Templates.generate`, for each request):

    system turn and goal
      -> system_acts   what the system turn does: it asks for a slot, offers to book, fails ...
      -> composition   phrasings: a template that says the whole goal, or several joined
      -> filler        values in place of the placeholders, as people say them there
      -> writing       capitals and blanks as the corpus at hand has them
      -> candidates

`tokens` is how all of them see text; `vocabulary` knows which words belong to which services and flags.
"""
