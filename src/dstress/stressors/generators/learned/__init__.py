"""The `learned` generator: a language model that was trained to say what users mean.

lessons   meaning.py     every turn of a corpus as a condition and the user's words
training  network.py     the trackers' families `causal` and `seq2seq` over these lessons (`dstress train`)
sampling  generator.py   goals -> prompts -> samples
"""

FAMILY = "utterances"
"""What recipes and checkpoints call it."""

HOW = "train one: dstress train utterances-multiwoz --out DIR, then learned(path=DIR)"
