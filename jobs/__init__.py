"""The Flink jobs, one file each: sources, operators, sinks, uids and parallelism; no logic."""
