"""Kafka for the Flink jobs: how a job reads a topic and how it writes one. The only place that configures either.

Every source reads committed records only and as raw bytes (a null value is skipped by ByteArraySchema; other schemas
fail on it). Every exactly-once sink pools its transactional ids: the default naming mints one a sink, subtask and
checkpoint (313 after 52 checkpoints against 10, docs/decisions.md). A sink takes rows of (key, value).
"""

from __future__ import annotations

from typing import Literal

from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.common.serialization import ByteArraySchema, RowFieldExtractorSchema
from pyflink.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from pyflink.java_gateway import get_gateway

from connectors.settings import Endpoints
from state_schemas.topics import Topic

# What travels between operators: (key, value). The key is what the next key_by or the topic's partitioner uses.
KEYED = Types.TUPLE([Types.STRING(), Types.PRIMITIVE_ARRAY(Types.BYTE())])
ROW = Types.ROW([Types.PRIMITIVE_ARRAY(Types.BYTE()), Types.PRIMITIVE_ARRAY(Types.BYTE())])

# Above a checkpoint interval plus a long restart; the broker's transaction.max.timeout.ms must allow it.
TRANSACTION_TIMEOUT_MS = 600_000


def first(pair: tuple[str, bytes]) -> str:
    """The key of a `KEYED` pair, for key_by (with key_type STRING)."""
    return pair[0]


def to_row(key: str, value: bytes) -> Row:
    """One record for a sink."""
    return Row(key.encode(), value)


def quarantine_tag() -> OutputTag:
    """The side output of what is set aside; every job sends it to the `quarantine` topic."""
    return OutputTag("quarantine", ROW)


def source(env: StreamExecutionEnvironment, topic: Topic, job: str, endpoints: Endpoints) -> DataStream:
    """The topic as a stream of bytes, from the group's committed offsets, else from the start.

    With a checkpoint or savepoint the offsets are the checkpoint's own; the group is only how lag is seen.
    """
    kafka = (
        KafkaSource.builder()
        .set_bootstrap_servers(endpoints.kafka)
        .set_topics(topic.name)
        .set_group_id(f"broadsheet-{job}")
        .set_starting_offsets(KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.EARLIEST))
        .set_value_only_deserializer(ByteArraySchema())
        .set_property("isolation.level", "read_committed")
        .set_property("partition.discovery.interval.ms", "-1")
        .set_client_id_prefix(f"broadsheet-{job}-{topic.name}")
        .build()
    )
    uid = f"{job}-source-{topic.name}"
    return env.from_source(kafka, WatermarkStrategy.no_watermarks(), uid).uid(uid)


def sink(
    stream: DataStream,
    topic: Topic,
    job: str,
    endpoints: Endpoints,
    guarantee: Literal["exactly_once", "at_least_once"],
) -> None:
    """Write a stream of `ROW`s to the topic; compressed, with a stable transactional prefix a job and topic."""
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic.name)
        .set_key_serialization_schema(RowFieldExtractorSchema(0))
        .set_value_serialization_schema(RowFieldExtractorSchema(1))
        .build()
    )
    builder = (
        KafkaSink.builder()
        .set_bootstrap_servers(endpoints.kafka)
        .set_record_serializer(schema)
        # The connector's shaded client lacks the codecs of lz4, zstd and snappy; bodies are zstd already.
        .set_property("compression.type", "none")
        .set_property("max.request.size", str(2 * 1024 * 1024))
        .set_property("linger.ms", "5")
    )
    if guarantee == "exactly_once":
        builder.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        builder.set_transactional_id_prefix(f"broadsheet-{job}-{topic.name}")
        builder.set_property("transaction.timeout.ms", str(TRANSACTION_TIMEOUT_MS))
        naming = get_gateway().jvm.org.apache.flink.connector.kafka.sink.TransactionNamingStrategy
        builder._j_builder.setTransactionNamingStrategy(naming.POOLING)
    else:
        builder.set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
    uid = f"{job}-sink-{topic.name}"
    stream.sink_to(builder.build()).name(uid).uid(uid)
