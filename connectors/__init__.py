"""The edges, one module a system: Kafka, object storage, HTTP, Flink."""
