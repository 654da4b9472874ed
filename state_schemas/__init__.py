"""What the data is: Kafka records, keyed state, page objects; ids, codec, upgrades. Imports nothing of ours."""
