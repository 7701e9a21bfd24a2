"""Train the `seq2seq` generator on a corpus: `python -m benchmarks.fit_seq2seq --out FOLDER [--epochs 20 ...]`.

With `--examples FILE` it only writes the training data, for `dstress.generators.network.training` on another
machine. Other arguments are the fields of `training.TrainingOptions`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from dstress.corpora import load
from dstress.generators.network.examples import write_examples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", default="mwz21-trade:train")
    parser.add_argument("--dev", default="mwz21-trade:dev")
    parser.add_argument("--examples", type=Path)
    arguments, others = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.examples or Path(folder, "examples.jsonl.gz")
        start = time.perf_counter()
        about = {"train": arguments.train, "dev": arguments.dev}
        counts = write_examples(load(arguments.train), load(arguments.dev), path, about)
        print(counts, f"{path.stat().st_size:,} bytes, {time.perf_counter() - start:.0f} s", file=sys.stderr)
        if not arguments.examples:
            from dstress.generators.network.training import main as train

            train(["--data", str(path), *others])


if __name__ == "__main__":
    main()
