"""A language model on a few turns:  python examples/llm_tracker.py http://localhost:8000/v1 my-model 5"""

import itertools
import sys

import dstress
from dstress.home import home
from dstress.setting import Setting
from dstress.trackers import Context, create

corpus = dstress.load("reminder:test")
tracker = create(f'llm("{sys.argv[1]}", model="{sys.argv[2]}", shots=2, train="reminder:train", temperature=0)')
tracker.prepare(Setting(corpus.schema, corpus, dstress.load, home()))
turns = (Context(dialogue, turn, corpus.schema) for dialogue in corpus for turn in range(len(dialogue.turns)))
contexts = list(itertools.islice(turns, int(sys.argv[3])))
for context, answer in zip(contexts, tracker.track(contexts), strict=True):
    print(f"{context.user}\n    {answer}")
print(tracker.usage())
tracker.close()
