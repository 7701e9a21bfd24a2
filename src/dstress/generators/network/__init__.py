"""The parts of the `seq2seq` generator. `training` and all that it imports need only torch and msgspec beside Python."""
