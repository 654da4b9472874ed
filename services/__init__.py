"""Processes that run beside Flink."""
