"""Which articles are about one event: copies, candidates, score, ids, changes."""
