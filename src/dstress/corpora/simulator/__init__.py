"""The simulated user and the simulated desk behind the corpus `reminder`; `dstress.corpora.simulated` is its door."""
