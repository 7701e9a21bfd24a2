"""Tests of the playground's pages."""
