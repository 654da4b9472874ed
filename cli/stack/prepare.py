"""What a running broker and object store must hold before anything uses them: the bucket and the topics.

A process of its own (`python -m cli.stack.prepare`), so that the supervisor does not keep two clients' memory.
Exit status 0: all there; 2: it cannot be, and standard output says why in one line.
"""

from __future__ import annotations

import os
import sys
import time

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from kafka.errors import KafkaError

from connectors.kafka import KafkaClientError
from connectors.kafka_admin import TopicMismatchError, ensure_topics
from connectors.settings import Endpoints


def create_bucket(endpoints: Endpoints, timeout_s: float = 30.0) -> None:
    """Create the bucket unless it exists. Raises ClientError or BotoCoreError when the store still refuses then."""
    client = boto3.client(
        "s3",
        endpoint_url=endpoints.s3_endpoint,
        region_name=endpoints.s3_region,
        aws_access_key_id=endpoints.s3_access_key,
        aws_secret_access_key=endpoints.s3_secret_key,
        config=Config(s3={"addressing_style": "path"}, connect_timeout=5, read_timeout=10),
    )
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            client.create_bucket(Bucket=endpoints.s3_bucket)
        except ClientError as error:
            if error.response["Error"]["Code"] in ("BucketAlreadyOwnedByYou", "BucketAlreadyExists"):
                return
            if time.monotonic() > deadline:
                raise
        except BotoCoreError:
            if time.monotonic() > deadline:
                raise
        else:
            return
        time.sleep(0.2)


def main(what: list[str]) -> int:
    """Prepare the named parts ("s3", "kafka") at the addresses in the environment."""
    endpoints = Endpoints.from_mapping(os.environ)
    try:
        if "s3" in what:
            create_bucket(endpoints)
        if "kafka" in what:
            ensure_topics(endpoints)
    except TopicMismatchError as error:
        print(error)  # noqa: T201  # the answer to the supervisor
        return 2
    except (KafkaError, KafkaClientError, ClientError, BotoCoreError) as error:
        print(f"{type(error).__name__}: {error}".splitlines()[0])  # noqa: T201
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
