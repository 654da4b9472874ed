"""What each component of the stack is: its command line, environment, files, and how to tell that it serves.

Knows no supervision: `supervisor.py` starts these, watches them and starts them again.
Settings of the broker are those measured for one node on 2 cores; Flink's stand in flink-conf/config.yaml.
"""

from __future__ import annotations

import os
import shutil
import socket
import string
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from cli.stack.layout import CHECKOUT, INSTALLATION, StackSpec
from cli.stack.processes import MARK
from connectors.flink import FlinkRest, RestError
from connectors.settings import Endpoints


class NotInstalledError(Exception):
    """Set-up has not made what the stack needs; the message says what is missing and how to make it."""


@dataclass(frozen=True, slots=True)
class Component:
    """One process of the stack."""

    name: str
    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: Path
    port: int  # 0: none of its own
    # Given when the process was started (seconds since 1970): does it do its work? Answers within some 2 s.
    serves: Callable[[float], bool]
    grace_s: float = 10.0  # between SIGTERM and SIGKILL
    patience_s: float = 120.0  # how long a start may take before it is said to have failed
    before: Callable[[], None] = field(default=lambda: None)  # files to lay out before each start


def components(spec: StackSpec, given: Endpoints) -> dict[str, Component]:
    """The components that `spec` names, in starting order. Raises NotInstalledError."""
    makers = {
        "kafka": _kafka,
        "s3": _s3,
        "jobmanager": _jobmanager,
        "taskmanager": _taskmanager,
        "fetcher": _fetcher,
        "push": _push,
        "origin": _origin,
    }
    endpoints = spec.endpoints(given)
    return {name: makers[name](spec, endpoints) for name in spec.components}


def environment(spec: StackSpec, endpoints: Endpoints, name: str) -> dict[str, str]:
    """What every process of the stack inherits: ours, one thread a numeric library, and the mark.

    Flink hands its environment on to the Python workers, so jobs find the systems the same way as services do.
    """
    return {
        **os.environ,
        **endpoints.to_mapping(),
        # On few cores, several threads in each of several workers only take turns.
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONUNBUFFERED": "1",
        "BROADSHEET_FETCHER_PORT": str(spec.ports.fetcher),
        "BROADSHEET_PUSH_METRICS_PORT": str(spec.ports.push_metrics),
        MARK: f"{spec.folder}:{name}",
    }


def http_answers(url: str, accepted: Callable[[int], bool] = lambda status: status < 400) -> bool:
    """Whether a GET of `url` is answered within 2 s with an accepted status."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return accepted(answer.status)
    except urllib.error.HTTPError as error:
        return accepted(error.code)
    except OSError:
        return False


def port_open(port: int) -> bool:
    """Whether something accepts connections there."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _need(path: Path) -> Path:
    if not path.exists():
        raise NotInstalledError(f"{path} is missing: run `make setup` in {CHECKOUT} first")
    return path


# ---------------------------------------------------------------- Kafka: one node, KRaft


def broker_settings(spec: StackSpec) -> dict[str, str]:
    """server.properties of the one broker, which is its own controller."""
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{spec.ports.kafka_controller}",
        "listeners": (f"PLAINTEXT://127.0.0.1:{spec.ports.kafka},CONTROLLER://127.0.0.1:{spec.ports.kafka_controller}"),
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{spec.ports.kafka}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(spec.data / "kafka" / "log"),
        # One node holds the one copy of everything.
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        # A topic exists with its own partition count or not at all.
        "auto.create.topics.enable": "false",
        # Flink's sinks ask for 10 minutes: a transaction must outlive a restart of its job.
        "transaction.max.timeout.ms": "900000",
        # Articles with their bodies: topics allow 2 MB, and the broker must take what they allow.
        "message.max.bytes": str(2 * 1024 * 1024),
        "replica.fetch.max.bytes": str(4 * 1024 * 1024),
        "log.cleaner.dedupe.buffer.size": "2097152",
        # Some 180 partitions of little data: small files, and threads for two cores.
        "log.index.size.max.bytes": str(1024 * 1024),
        "num.network.threads": "2",
        "num.io.threads": "4",
        "num.recovery.threads.per.data.dir": "2",
    }


def _kafka(spec: StackSpec, endpoints: Endpoints) -> Component:
    jars = _need(INSTALLATION / "jars" / "kafka")
    settings = spec.data / "kafka" / "server.properties"
    java = (
        _java(),
        "-Xms128m",
        "-Xmx256m",
        "-XX:+UseSerialGC",
        # At hundreds of records a second the optimising compiler never pays: 9.1 s of CPU until it serves, 4.6 s so.
        "-XX:TieredStopAtLevel=1",
        f"-Dlog4j2.configurationFile={CHECKOUT / 'docker' / 'kafka-log4j2.properties'}",
        "-cp",
        f"{jars}/*",
    )

    def lay_out() -> None:
        settings.parent.mkdir(parents=True, exist_ok=True)
        lines = (f"{key}={value}" for key, value in broker_settings(spec).items())
        settings.write_text("\n".join(lines) + "\n")

    # Formatting is done by the broker's own process before it becomes the broker: killed in between, it is done again.
    formatted = spec.data / "kafka" / "log" / "meta.properties"
    script = (
        'formatted=$1 settings=$2; shift 2; [ -f "$formatted" ] || '
        '"$@" kafka.tools.StorageTool format -t AAAAAAAAAAAAAAAAAAAAAQ -c "$settings" || exit 1; '
        'exec "$@" kafka.Kafka "$settings"'
    )
    return Component(
        name="kafka",
        argv=("/bin/sh", "-c", script, "kafka", str(formatted), str(settings), *java),
        env=environment(spec, endpoints, "kafka"),
        cwd=spec.folder,
        port=spec.ports.kafka,
        serves=lambda _started: port_open(spec.ports.kafka) and _broker_answers(endpoints),
        grace_s=20,
        before=lay_out,
    )


def _broker_answers(endpoints: Endpoints) -> bool:
    from connectors.kafka_admin import reachable  # the client costs 60 ms and 10 MB to import

    return reachable(endpoints, timeout_s=2)


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    found = f"{home}/bin/java" if home and Path(home, "bin", "java").exists() else shutil.which("java")
    if found is None:
        raise NotInstalledError("no java on the PATH: run `make setup`, or install openjdk-17-jre-headless")
    return found


# ---------------------------------------------------------------- the object store


def _s3(spec: StackSpec, endpoints: Endpoints) -> Component:
    program = _need(INSTALLATION / "bin" / "versitygw")
    objects = spec.data / "s3"
    objects.mkdir(parents=True, exist_ok=True)
    sidecar: tuple[str, ...] = ()
    if not _keeps_attributes(objects):
        (spec.data / "s3-attributes").mkdir(exist_ok=True)
        sidecar = ("--sidecar", str(spec.data / "s3-attributes"))
    return Component(
        name="s3",
        argv=(
            str(program),
            "--port",
            f"127.0.0.1:{spec.ports.s3}",
            "--region",
            endpoints.s3_region,
            "--quiet",
            "posix",
            *sidecar,
            str(objects),
        ),
        env={
            **environment(spec, endpoints, "s3"),
            "ROOT_ACCESS_KEY": endpoints.s3_access_key,
            "ROOT_SECRET_KEY": endpoints.s3_secret_key,
        },
        cwd=spec.folder,
        port=spec.ports.s3,
        # An unsigned request is refused, and that is an answer.
        serves=lambda _started: http_answers(f"http://127.0.0.1:{spec.ports.s3}/", lambda status: status < 500),
    )


def _keeps_attributes(folder: Path) -> bool:
    """Whether the file system stores extended user attributes, where the server keeps an object's metadata."""
    probe = folder.parent / ".attribute-probe"
    try:
        probe.touch()
        os.setxattr(probe, "user.broadsheet", b"1")
    except OSError:
        return False
    finally:
        probe.unlink(missing_ok=True)
    return True


# ---------------------------------------------------------------- Flink


def flink_settings(spec: StackSpec, endpoints: Endpoints) -> str:
    """flink-conf/config.yaml with this stack's addresses, folders and sizes."""
    template = string.Template((CHECKOUT / "flink-conf" / "config.yaml").read_text().replace("${so}", "$${so}"))
    return template.substitute(
        flink_rpc_port=spec.ports.flink_rpc,
        flink_rest_port=spec.ports.flink_rest,
        slots=spec.slots,
        state_memory=spec.state_memory,
        bucket=endpoints.s3_bucket,
        s3_endpoint=endpoints.s3_endpoint,
        s3_access_key=endpoints.s3_access_key,
        s3_secret_key=endpoints.s3_secret_key,
        s3_region=endpoints.s3_region,
        python=sys.executable,
        flink_folder=spec.flink,
        metrics_reporters="prom" if spec.metrics else "[]",
        metrics_ports="9250-9260",
        java_opts=_shipped_java_opts(),
    )


def _shipped_java_opts() -> str:
    """The module openings that Flink ships for Java 17: without them its serialisers fail."""
    for line in (INSTALLATION / "flink" / "conf" / "config.yaml").read_text().splitlines():
        if line.strip().startswith("all: --add-exports"):
            return line.split(":", 1)[1].strip()
    raise NotInstalledError("Flink's config.yaml does not say env.java.opts.all: run `make setup` again")


def _flink(spec: StackSpec, endpoints: Endpoints, name: str) -> tuple[dict[str, str], Callable[[], None]]:
    home = _need(INSTALLATION / "flink")
    settings = spec.flink / "conf"

    def lay_out() -> None:
        for folder in (settings, spec.flink / "tmp", spec.flink / "uploads", spec.flink / name):
            folder.mkdir(parents=True, exist_ok=True)
        # JobManager and TaskManager start at the same time and both lay this out: never a half-written file.
        for target, text in (
            (settings / "config.yaml", flink_settings(spec, endpoints)),
            (
                settings / "log4j-console.properties",
                (CHECKOUT / "flink-conf" / "log4j-console.properties").read_text(),
            ),
        ):
            part = target.with_suffix(f".{name}")
            part.write_text(text)
            part.chmod(0o600)  # it holds the object store's keys
            part.rename(target)
        # The REST interface shows the file that the script names in -Dlog.file: a link to what the supervisor writes.
        kind = {"jobmanager": "standalonesession", "taskmanager": "taskexecutor"}[name]
        link = spec.flink / name / f"flink-broadsheet-{kind}-0-stack.log"
        link.unlink(missing_ok=True)
        link.symlink_to(spec.log_file(name))

    env = {
        **environment(spec, endpoints, name),
        "FLINK_HOME": str(home),
        "FLINK_CONF_DIR": str(settings),
        "FLINK_LOG_DIR": str(spec.flink / name),
        "FLINK_PID_DIR": str(spec.flink / name),
        "FLINK_IDENT_STRING": "broadsheet",
        "HOSTNAME": "stack",
        # The scripts' own idea of the Java to use must be the same as the broker's.
        "JAVA_HOME": os.environ.get("JAVA_HOME") or str(Path(_java()).resolve().parent.parent),
    }
    return env, lay_out


def _jobmanager(spec: StackSpec, endpoints: Endpoints) -> Component:
    env, lay_out = _flink(spec, endpoints, "jobmanager")
    return Component(
        name="jobmanager",
        argv=("/bin/bash", str(INSTALLATION / "flink" / "bin" / "jobmanager.sh"), "start-foreground"),
        env=env,
        cwd=spec.folder,
        port=spec.ports.flink_rest,
        serves=lambda _started: http_answers(f"{endpoints.flink_rest}/overview"),
        before=lay_out,
    )


def _taskmanager(spec: StackSpec, endpoints: Endpoints) -> Component:
    env, lay_out = _flink(spec, endpoints, "taskmanager")

    def registered(started: float) -> bool:
        # One that was killed stays listed until its heartbeat times out: only a later sign of life counts.
        try:
            beats = FlinkRest(endpoints.flink_rest, timeout_s=2).heartbeats_ms()
        except RestError:
            return False
        return any(beat >= started * 1000 for beat in beats)

    return Component(
        name="taskmanager",
        argv=("/bin/bash", str(INSTALLATION / "flink" / "bin" / "taskmanager.sh"), "start-foreground"),
        env=env,
        cwd=spec.folder,
        port=0,
        serves=registered,
        before=lay_out,
    )


# ---------------------------------------------------------------- our own services


def _service(spec: StackSpec, endpoints: Endpoints, name: str, port: int) -> Component:
    return Component(
        name=name,
        argv=(sys.executable, "-P", "-m", f"services.{name}"),
        env=environment(spec, endpoints, name),
        cwd=spec.folder,
        port=port,
        serves=lambda _started: http_answers(f"http://127.0.0.1:{port}/health", lambda status: status < 500),
        grace_s=15,
    )


def _fetcher(spec: StackSpec, endpoints: Endpoints) -> Component:
    return _service(spec, endpoints, "fetcher", spec.ports.fetcher)


def _push(spec: StackSpec, endpoints: Endpoints) -> Component:
    # Its health is none of the internet's business: a port of its own.
    return replace(_service(spec, endpoints, "push", spec.ports.push_metrics), port=spec.ports.push)


def _origin(spec: StackSpec, endpoints: Endpoints) -> Component:
    return _service(spec, endpoints, "origin", spec.ports.origin)
