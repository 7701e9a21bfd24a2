"""Stress tests for dialogue state trackers.

What you do
    load                `multiwoz21:test`, `sgd-x/v3:dev`, `reminder:train`, or a path to any source
    add                 Import a source into the data home under `name`
    stress              A corpus, or its name, under `typos(rate=0.05)+disfluency` or a stressor of your own
    evaluate            Stress a corpus as a suite says, let a tracker answer, and score the answers
    score               Score a prediction file (or predictions) against gold, under one convention
    compare             Compare two or more systems on the same gold; the first is the baseline
    read_predictions    Every prediction in a file, a folder, an archive, or several of them
    write_predictions   Write predictions, whole or not at all
    parse               Read one component

What you hold
    Corpus              A corpus split that can be iterated any number of times
    Dialogue            One conversation, in order
    Turn                A system utterance (empty at the start) and the user utterance that follows it
    State               slot id -> every accepted form of the value, the preferred one first
    Schema              All services that a split's dialogues may use
    Prediction          A tracker's answer for one turn
    Scorecard           Scores of one prediction file under one convention
    ComponentSpec       A component's name and creation arguments
    DstressError        A problem that the person can fix

What you extend
    Tracker             What a tracker declares
    Stressor            What every stressor declares
    Rewriter            The simple case, all that most stressors need: one method that gives the new words
    Importer            One layout of corpus files
    Format              One layout of prediction files
    Convention          A named bundle: how values are normalised, when two are the same
    Metric              A number over units, by default a ratio
    importers           corpus layouts by name
    formats             prediction formats by name

Names are imported when they are first used, so that `import dstress` costs next to nothing.
"""

from dstress._door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
