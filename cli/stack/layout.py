"""Where a stack listens and where its files lie. Decides names and numbers only; never touches a port or a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from connectors.settings import Endpoints

CHECKOUT = Path(__file__).resolve().parents[2]
# What set-up made: Flink, the jars, the object store's program, the encoder.
INSTALLATION = CHECKOUT / ".stack"

COMPONENTS: tuple[str, ...] = ("kafka", "s3", "jobmanager", "taskmanager", "fetcher", "push", "origin")
# Names a user may give for several components at once.
GROUPS: Mapping[str, tuple[str, ...]] = {"flink": ("jobmanager", "taskmanager")}


@dataclass(frozen=True, slots=True)
class Ports:
    """The TCP ports of one stack, all on 127.0.0.1. The defaults are those of `connectors.settings.Endpoints`."""

    kafka: int = 19092
    kafka_controller: int = 19093
    s3: int = 17070
    flink_rest: int = 18081
    flink_rpc: int = 16123
    fetcher: int = 19464
    push: int = 18082
    push_metrics: int = 19465
    origin: int = 18080

    @classmethod
    def from_base(cls, base: int) -> Ports:
        """Consecutive ports from `base` on, in the order of the fields."""
        return cls(*range(base, base + len(fields(cls))))

    def of(self, components: tuple[str, ...]) -> dict[str, int]:
        """The ports that these components listen on, by the field's name."""
        owners = {
            "kafka": ("kafka", "kafka_controller"),
            "s3": ("s3",),
            "jobmanager": ("flink_rest", "flink_rpc"),
            "fetcher": ("fetcher",),
            "push": ("push", "push_metrics"),
            "origin": ("origin",),
        }
        return {name: getattr(self, name) for part in components for name in owners.get(part, ())}


def chosen(names: tuple[str, ...]) -> tuple[str, ...]:
    """Component names with the groups spelled out, in starting order. Raises ValueError on an unknown name."""
    wanted: set[str] = set()
    for name in names:
        if name not in COMPONENTS and name not in GROUPS:
            raise ValueError(f"no component {name!r}; there are {', '.join((*COMPONENTS, *GROUPS))}")
        wanted.update(GROUPS.get(name, (name,)))
    return tuple(name for name in COMPONENTS if name in wanted)


@dataclass(frozen=True, slots=True)
class StackSpec:
    """Everything that a supervisor must know to run a stack; kept in `stack.json` of its folder."""

    folder: Path
    ports: Ports = Ports()
    components: tuple[str, ...] = COMPONENTS
    profile: str = "default"
    slots: int = 8
    state_memory: str = "256m"
    gateway: str = ""
    metrics: bool = False
    # The stack ends when this process does (its id and its start, seconds since 1970); 0: it lives by itself.
    owner: int = 0
    owner_started: float = 0.0

    def endpoints(self, given: Endpoints | None = None) -> Endpoints:
        """The addresses at which this stack's systems answer; all else as `given`."""
        base = given or Endpoints()
        encoder = Path(base.encoder_folder)
        return replace(
            base,
            kafka=f"127.0.0.1:{self.ports.kafka}",
            s3_endpoint=f"http://127.0.0.1:{self.ports.s3}",
            flink_rest=f"http://127.0.0.1:{self.ports.flink_rest}",
            origin=f"http://127.0.0.1:{self.ports.origin}",
            push=f"http://127.0.0.1:{self.ports.push}",
            # Hubs behind the gateway are on this machine and can call back. On the internet none could: whoever has a
            # public address says so in BROADSHEET_PUSH_PUBLIC.
            push_public=base.push_public or (f"http://127.0.0.1:{self.ports.push}" if self.gateway else ""),
            gateway=self.gateway,
            profile=self.profile,
            # Workers run in folders of their own, so a relative path would lead nowhere.
            encoder_folder=str(encoder if encoder.is_absolute() else CHECKOUT / encoder),
        )

    def to_json(self) -> dict[str, object]:
        """Plain values for `stack.json`."""
        return {**asdict(self), "folder": str(self.folder)}

    @classmethod
    def from_json(cls, found: dict[str, object]) -> StackSpec:
        """What `to_json` gave."""
        known = {entry.name for entry in fields(cls)}
        values = {key: value for key, value in found.items() if key in known}
        values["folder"] = Path(str(found["folder"]))
        values["ports"] = Ports(**found["ports"])  # type: ignore[arg-type]
        values["components"] = tuple(found["components"])  # type: ignore[arg-type]
        return cls(**values)  # type: ignore[arg-type]

    @property
    def spec_file(self) -> Path:
        return self.folder / "stack.json"

    @property
    def status_file(self) -> Path:
        """Written by the supervisor alone."""
        return self.folder / "status.json"

    @property
    def data(self) -> Path:
        """What outlives the processes: topics, objects."""
        return self.folder / "data"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def flink(self) -> Path:
        """Flink's rendered settings, uploads and spill files."""
        return self.folder / "flink"

    def log_file(self, name: str) -> Path:
        """The log of a component, or of the supervisor."""
        return self.logs / f"{name}.log"
