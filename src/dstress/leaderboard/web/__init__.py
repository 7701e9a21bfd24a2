"""What every page and every part of the API shares: who asks, what may be typed, how often, and how it is shown."""
