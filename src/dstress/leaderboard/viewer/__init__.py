"""The local viewer: the runs of a folder in a browser on the same machine, without accounts and without writing."""
