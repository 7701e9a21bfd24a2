"""The web platform and the local viewer (extra `server`)."""
