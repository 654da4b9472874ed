"""A job for tests whose script fails: what `jobs submit` makes of it is the test."""

from __future__ import annotations


class UnknownEditionError(ValueError):
    """An error with a name of its own."""


def main() -> None:
    """Fail as a job script with a wrong setting would."""
    raise UnknownEditionError("edition 'atlantis' is not in editions.toml")


if __name__ == "__main__":
    main()
