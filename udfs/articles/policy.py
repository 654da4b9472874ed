"""The numbers of the parse stage that someone may tune; a profile overrides single ones."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ArticlesPolicy:
    """Sources: design, sections 3 and 6, where no other is given. docs/articles.md says what was measured."""

    # Extraction in a child process.
    page_limit_ms: int = 2_000  # of the child's processor time a page; the slowest of 139 captured pages took 400 ms
    page_wall_ms: int = 10_000  # of wall time, where others keep the processor: a busy machine is no fault of the page
    start_limit_ms: int = 60_000  # for a child to come up; 1 s on an idle machine
    child_memory_bytes: int = 1_536 * 1024 * 1024  # of address space; a child that has read 5,000 pages uses 0.6 GB
    pages_per_child: int = 5_000  # then it is replaced: bounds what libraries leak
    max_page_bytes: int = 10 * 1024 * 1024  # of HTML; the largest captured page has 2 MB

    # Identity.
    row_days: int = 90
    # Retractions and re-checks that came before their article: seconds by order of partitions, an hour by deferral.
    waiting_days: int = 1  # after the day on which they came
    waiting_rows: int = 64  # a shard, 262,144 in all: 50 MB of retractions, whoever sends how many
    checkpoint_ms: int = 2_000

    # Signatures.
    min_shingles: int = 16  # see SignaturePolicy
    signatures_kept: int = 2_000  # by text hash, for updates that leave the text alone; 1.2 KB each

    # The tick that each language's log gets.
    clock_ms: int = 60_000
