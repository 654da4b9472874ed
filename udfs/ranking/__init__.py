"""Which stories stand where: aggregates, scores, pages."""
