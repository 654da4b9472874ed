"""When to ask a feed again, and what of its answer is new."""
