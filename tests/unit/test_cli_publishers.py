"""`broadsheet publishers` against Kafka in memory: what is stored, what is shown, one line for each fault."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import cli.main
import cli.publishers
from services.push.pings import NONCE, SIGNATURE, TIMESTAMP
from services.push.signatures import KEYS, is_ping_signed, key_hash, ping_message
from state_schemas.codec import decode_record, encode_record
from state_schemas.ids import feed_id
from state_schemas.sources import Origin, Publisher, Source
from state_schemas.topics import PUBLISHERS, SOURCES
from tests.contracts.memory_kafka import MemoryKafka

URL = "https://harbour.example/feed.xml"


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> MemoryKafka:
    broker = MemoryKafka()

    class Producer:
        def __init__(self, *_: Any, **__: Any) -> None: ...

        def __enter__(self) -> MemoryKafka:
            return broker

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(cli.publishers, "Producer", Producer)
    monkeypatch.setattr(cli.publishers, "read_all", lambda _, topic, **__: broker.read_all(topic))
    origin = Origin(publisher="harbour", name="Harbour Post", country="NZ", language="en", authority=0.8)
    broker.send(SOURCES, feed_id(URL), encode_record(Source(feed_id=feed_id(URL), url=URL, origin=origin)))
    return broker


def run(*arguments: str, text: str = "") -> Result:
    return CliRunner().invoke(
        cli.main.broadsheet, ["publishers", *arguments], input=text, catch_exceptions=False, standalone_mode=True
    )


def stored(kafka: MemoryKafka) -> Publisher:
    return decode_record(Publisher, list(kafka.read_all(PUBLISHERS))[-1].value)


def test_a_key_is_shown_once_and_its_hash_is_stored(kafka: MemoryKafka) -> None:
    done = run("key", "harbour")
    assert done.exit_code == 0, done.output
    key = done.stdout.strip()
    assert key.startswith("bsp_")
    assert len(key) > 40
    record = stored(kafka)
    assert record.ping_keys == (hashlib.sha256(key.encode()).hexdigest(),)
    assert (record.name, record.country, record.languages, record.authority) == ("Harbour Post", "NZ", ("en",), 0.8)
    assert key not in run("show", "harbour").output
    assert record.ping_keys[0] not in run("show", "harbour").output + run("list", "--json").output


def test_keys_live_side_by_side_until_the_others_are_revoked_and_other_fields_stay(kafka: MemoryKafka) -> None:
    known = Publisher(publisher="harbour", regions=("NZ-WGN",), authority=0.9, authority_by_topic={"sport": 0.4})
    kafka.send(PUBLISHERS, "harbour", encode_record(known))
    keys = [run("key", "harbour").stdout.strip() for _ in range(2)]
    assert stored(kafka).ping_keys == tuple(key_hash(key).hex() for key in keys)
    last = run("key", "harbour", "--revoke-others").stdout.strip()
    record = stored(kafka)
    assert record.ping_keys == (key_hash(last).hex(),)
    assert (record.regions, record.authority, record.authority_by_topic) == (("NZ-WGN",), 0.9, {"sport": 0.4})


def test_more_keys_than_push_tries_are_not_made(kafka: MemoryKafka) -> None:
    for _ in range(KEYS):
        assert run("key", "harbour").exit_code == 0
    done = run("key", "harbour")
    assert done.exit_code == 2
    assert "--revoke-others" in done.stderr
    assert run("key", "harbour", "--revoke-others").exit_code == 0


def test_list_and_show(kafka: MemoryKafka) -> None:
    kafka.send(PUBLISHERS, "quay", encode_record(Publisher(publisher="quay", name="Quay", blocked=True)))
    kafka.send(PUBLISHERS, "gone", encode_record(Publisher(publisher="gone", removed=True)))
    rows = json.loads(run("list", "--json").stdout)["publishers"]
    found = [(row["publisher"], row["name"], row["feeds"], row["ping_keys"], row["blocked"]) for row in rows]
    assert found == [("harbour", "Harbour Post", 1, 0, False), ("quay", "Quay", 0, 0, True)]
    assert "Harbour Post" in run("list").stdout
    assert json.loads(run("show", "harbour").stdout)["authority"] == 0.8


@pytest.mark.parametrize("command", ["key", "show"])
def test_an_unknown_publisher_is_one_line(kafka: MemoryKafka, command: str) -> None:
    done = run(command, "nobody")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "no publisher 'nobody'" in done.stderr
    assert list(kafka.read_all(PUBLISHERS)) == []


# ------------------------------------------------------------ ping


class Listener:
    """Stands in for push: keeps what it was asked and answers as told."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.status, self.retry = 202, ""
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                listener.asked.append((self.path, dict(self.headers.items())))
                self.send_response(listener.status)
                if listener.retry:
                    self.send_header("Retry-After", listener.retry)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def listener() -> Iterator[Listener]:
    one = Listener()
    serving = threading.Thread(target=one.server.serve_forever, args=(0.02,))
    serving.start()
    yield one
    one.server.shutdown()
    serving.join()
    one.server.server_close()


def is_signed(asked: tuple[str, dict[str, str]], key: str) -> bool:
    path, headers = asked
    return is_ping_signed((key_hash(key),), headers[SIGNATURE], ping_message(headers[TIMESTAMP], headers[NONCE], path))


def test_a_ping_is_signed_and_the_key_does_not_travel(listener: Listener, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("bsp_abc\n")
    options = ("--url", listener.url, "--key-file", str(tmp_path / "key"))
    done = run("ping", "harbour", *options)
    assert (done.exit_code, done.output) == (0, "harbour: accepted\n")
    assert run("ping", "a b", "--feed", URL, "--url", listener.url, "--key-file", "-", text="bsp_abc").exit_code == 0
    assert [path for path, _ in listener.asked] == [
        "/ping/harbour",
        "/ping/a%20b/https%3A%2F%2Fharbour.example%2Ffeed.xml",
    ]
    assert all(is_signed(each, "bsp_abc") for each in listener.asked)
    assert "bsp_abc" not in repr(listener.asked)
    assert not is_signed(listener.asked[0], "bsp_abd")


@pytest.mark.parametrize(
    ("status", "said"), [(404, "wrong key"), (429, "too many pings; again in 7 s"), (503, "not ready"), (500, "500")]
)
def test_what_push_refuses_is_one_line(listener: Listener, status: int, said: str) -> None:
    listener.status, listener.retry = status, "7"
    done = run("ping", "harbour", "--url", listener.url, "--key-file", "-", text="bsp_abc")
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "text", "said"),
    [
        (("--url", "http://127.0.0.1:1", "--key-file", "-"), "bsp_abc", "no push answers at http://127.0.0.1:1"),
        (("--url", "push.example", "--key-file", "-"), "bsp_abc", "must be an http(s) address"),
        (("--key-file", "-"), "", "does not hold a key"),
        (("--key-file", "-"), "two words", "does not hold a key"),
        (("--key-file", "/nowhere/key"), "", "No such file"),
    ],
)
def test_what_cannot_be_sent_is_one_line(arguments: tuple[str, ...], text: str, said: str) -> None:
    done = run("ping", "harbour", *arguments, text=text)
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(not shutil.which("openssl") or not shutil.which("curl"), reason="needs openssl and curl")
def test_the_shell_lines_of_the_documentation_send_a_ping(listener: Listener, tmp_path: Path, checkout: Path) -> None:
    text = (checkout / "docs" / "push.md").read_text()
    script = text.split("```sh\n", 1)[1].split("```", 1)[0]
    (tmp_path / "key").write_text("bsp_abc\n")
    done = subprocess.run(
        ["/bin/sh", "-eu", "-c", script],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin:/usr/local/bin", "PUSH": listener.url},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert is_signed(listener.asked[0], "bsp_abc")
