"""The parts of the `seq2seq` generator. All but `examples`, `filling` and `fitting` need only torch beside Python."""
