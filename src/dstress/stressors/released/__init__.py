"""Released test sets: stressed text that was made once, so that it is the same for everybody."""
