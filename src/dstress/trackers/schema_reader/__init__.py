"""The family `schema_reader`: SGP-DST (Ruan et al. 2020), which reads a schema's descriptions with the dialogue."""
