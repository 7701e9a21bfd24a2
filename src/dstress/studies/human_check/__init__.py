"""People judge stressed turns: the sheets that judges are given, and the verdict on what they give back."""
