"""Benchmarks without web or database: public inputs, private gold, submissions read and scored, leaderboards ranked."""
