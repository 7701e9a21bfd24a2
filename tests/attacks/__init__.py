"""Attacks on the whole house: poisoned values, names and files through every door. docs/security.md says what holds."""
