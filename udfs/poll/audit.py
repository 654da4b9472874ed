"""What a schedule misses, measured: a few hundred feeds are asked every minute, and their schedule is only kept.

News that an audit finds is asked for at once; until the schedule would have asked it is remembered when it came, and
then it is known how late the schedule would have been. No clock, no I/O.
"""

from __future__ import annotations

import struct

from msgspec.structs import replace

from state_schemas.ids import hash64
from state_schemas.polling import FeedState
from state_schemas.sources import Source
from udfs.poll.policy import PollPolicy

_INSTANT = struct.Struct("<q")


def is_audited(source: Source, policy: PollPolicy) -> bool:
    """Whether it is one of the few, by a hash of its id: the same feeds in every run."""
    one_in = policy.audit_authoritative if source.tier == "authoritative" else policy.audit_tail
    return one_in > 0 and hash64(f"audit {source.feed_id}") % one_in == 0


def audited(state: FeedState, new: int, now_ms: int, policy: PollPolicy) -> tuple[FeedState, tuple[int, ...]]:
    """The row after an audit found `new` items, and the delays (ms) of those that its schedule finds by now.

    An item came, on the average, half an audit's interval before it was found.
    """
    came_ms = now_ms - policy.audit_ms // 2
    found = [at for (at,) in _INSTANT.iter_unpack(state.audit_found)] + [came_ms] * new
    if now_ms < state.audit_due_ms:
        kept = b"".join(map(_INSTANT.pack, found[: policy.audit_remembered]))
        return replace(state, audit_found=kept), ()
    # The schedule would have asked when it was due, whenever this answer came.
    delays = tuple(max(0, state.audit_due_ms - at) for at in found if at <= state.audit_due_ms)
    later = [at for at in found if at > state.audit_due_ms]
    return replace(state, audit_found=b"".join(map(_INSTANT.pack, later))), delays
