"""Make the confusion model that comes with dstress, in about half an hour: `python -m benchmarks.fit_confusions`.

It is what `speech_text(fit="reminder:train", utterances=600)` fits, written to where `speech_text` looks for it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from dstress.corpora import load
from dstress.storage.home import home
from dstress.stressors.speech import confusion_fit
from dstress.stressors.speech.confusion_fit import FILE, load_or_fit, sample_texts

UTTERANCES = 600


def run() -> None:
    model = load_or_fit(
        sample_texts(load("reminder:train"), UTTERANCES),
        home() / "speech",
        lambda *progress: print(*progress, flush=True),
    )
    path = Path(confusion_fit.__file__).with_name(FILE)
    path.write_bytes(msgspec.json.encode(model) + b"\n")
    for noise, levels in model.levels.items():
        for level in levels:
            print(
                f"{noise:<8} word error rate {level.wer:6.1%}   of which "
                + ", ".join(f"{share:.1%}" for share in level.mix)
            )
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    run()
