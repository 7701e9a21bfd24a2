"""Tests of the local viewer."""
