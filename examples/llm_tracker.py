"""A language model on a few turns:  python3 examples/llm_tracker.py http://localhost:8000/v1 my-model 5"""

import sys

import dstress
from dstress.api import Context, Resources, create
from dstress.storage.home import home

corpus = dstress.load("reminder:test")
options = 'services=dialogue, shots=2, train="reminder:train", timeout=600'
tracker = create(f'llm("{sys.argv[1]}", model="{sys.argv[2]}", {options})')
tracker.prepare(Resources(corpus.schema, corpus, dstress.load, home()))
dialogue = next(iter(corpus))
contexts = [Context(dialogue, turn, corpus.schema) for turn in range(int(sys.argv[3]))]
for context, answer in zip(contexts, tracker.track(contexts), strict=True):
    print(f"{context.user}\n    {answer}")
print(tracker.usage())
tracker.close()
