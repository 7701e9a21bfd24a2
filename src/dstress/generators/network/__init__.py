"""The parts of the `seq2seq` generator. `training` and what it imports need only torch and msgspec beside Python."""
