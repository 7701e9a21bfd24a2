"""Utterances that are foreign to a corpus."""
