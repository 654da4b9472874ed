"""The broadsheet command."""
