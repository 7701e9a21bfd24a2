"""The family `span`: TripPy (Heck et al. 2020), which copies every value from where the dialogue has it."""
