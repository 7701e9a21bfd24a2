"""The simulated user and the simulated desk behind the corpus `reminder`; `dstress.corpora.reminder` is its door."""
