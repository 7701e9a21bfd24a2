"""TripPy's family."""
