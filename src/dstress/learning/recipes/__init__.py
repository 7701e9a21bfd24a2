"""The recipes that come with dstress, one TOML file each."""
