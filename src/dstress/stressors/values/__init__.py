"""CoCo's value substitution and its slot-value dictionaries."""
