"""The audio channel: a text is spoken (flite), drowned in noise, and recognised (pocketsphinx, Whisper)."""
