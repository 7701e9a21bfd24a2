"""The platform: private test data, submissions, a leaderboard, human evaluation and collection (extra `server`)."""
