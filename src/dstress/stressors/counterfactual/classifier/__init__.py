"""The slot classifier: a filter against utterances that say more than they should.

Learning (`Linear.prepare`, once):

    training corpus
      -> examples       each exchange with the slots that its user speaks about; some dialogues are held out; the same
                        once more with made-up values, as those of a counterfactual are new
      -> features       hashes of words in which kinds stand for values
      -> linear         a logistic regression for each slot
      -> break_even     the line between the slots that are spoken about and the others, by what was held out

Classifying (`Linear.slots`): exchanges -> logits of all slots -> those from the threshold on. It reads words, never
labels, so that it can judge utterances that nobody has labelled.
"""
