"""The parts of the `llm` generator."""
