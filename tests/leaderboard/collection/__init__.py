"""Tests of collection."""
