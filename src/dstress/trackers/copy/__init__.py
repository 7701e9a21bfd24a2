"""The family `copy`: TRADE (Wu et al. 2019), which writes values word by word or copies them from the dialogue."""
