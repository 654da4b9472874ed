"""Immutable page versions and the pointer that says which one counts."""
