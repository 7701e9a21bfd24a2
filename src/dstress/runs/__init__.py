"""What a run leaves behind: its folder, its journal of answers, its scores."""
