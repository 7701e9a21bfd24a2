"""Make a confusion model that comes with dstress: `python -m benchmarks.fit_confusions`, in about half an hour.

It is what `speech_text(fit="reminder:train", utterances=600, recognizer=pocketsphinx)` fits, written to where
`speech_text` looks for it; `python -m benchmarks.fit_confusions PATH` the same with the Whisper model in a folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from dstress.corpora import load
from dstress.storage.home import home
from dstress.stressors.speech import confusions
from dstress.stressors.speech.confusions import load_or_fit, sample_texts, shipped_file
from dstress.stressors.speech.recognizers import RecognizerName, make_recognizer

UTTERANCES: dict[RecognizerName, int] = {"pocketsphinx": 600, "whisper": 120}


def run(folder: str = "") -> None:
    name: RecognizerName = "whisper" if folder else "pocketsphinx"
    model = load_or_fit(
        sample_texts(load("reminder:train"), UTTERANCES[name]),
        home() / "speech",
        make_recognizer("fit_confusions", name, folder),
        lambda *progress: print(*progress, flush=True),
    )
    path = Path(confusions.__file__).with_name(shipped_file(name))
    path.write_bytes(msgspec.json.encode(model) + b"\n")
    for noise, levels in model.levels.items():
        for level in levels:
            print(
                f"{noise:<8} word error rate {level.wer:6.1%}   of which "
                + ", ".join(f"{share:.1%}" for share in level.mix)
            )
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    run(*sys.argv[1:])
