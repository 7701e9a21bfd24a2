"""A language model as a tracker: prompt, examples, answers."""
