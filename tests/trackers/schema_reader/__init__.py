"""TRADE."""
