"""A dialogue system of rules: what a tracker knows, a look into the database, and templates."""
