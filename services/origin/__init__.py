"""The origin: every page's current bytes in memory; no request reads a store."""
