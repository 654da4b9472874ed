"""Policies by profile: a profile changes documented policy values and nothing else, never a code path.

`reference_data/profiles.toml` holds, for each profile and stage, only the values that differ from the defaults in the
stage's own frozen policy dataclass.
"""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

P = TypeVar("P")


class ProfileError(ValueError):
    """The profile file cannot be used: the message names profile, stage, field and what is wrong."""


def policy(kind: type[P], stage: str, profile: str, reference_data: Path) -> P:
    """The stage's policy under a profile. Raises ProfileError on an unknown profile, field or type of value."""
    path = reference_data / "profiles.toml"
    profiles: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    if profile not in profiles:
        raise ProfileError(f"{path.name}: no profile {profile!r}; there are {', '.join(sorted(profiles))}")
    changed: dict[str, Any] = profiles[profile].get(stage, {})
    defaults = kind()
    known = {entry.name for entry in fields(kind)}  # type: ignore[arg-type]
    for name, value in changed.items():
        if name not in known:
            raise ProfileError(f"{path.name}: [{profile}.{stage}] has no field {name!r}")
        wanted = type(getattr(defaults, name))
        if wanted is not type(value) and not (wanted is float and type(value) is int):
            raise ProfileError(f"{path.name}: [{profile}.{stage}] {name} must be {wanted.__name__}")
    return kind(**changed)
