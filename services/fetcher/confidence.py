"""What of a request may be kept where operators look. Pure.

The form of a request to a hub holds the secret that signs its deliveries, and a callback that only the hub should know.
"""

from __future__ import annotations

from msgspec.structs import replace

from connectors.http import HttpError
from state_schemas.codec import encode_record
from state_schemas.fetching import FetchRequest

# In a record that cannot be read, these betray a form.
_MARKS = (b"hub.secret", b"hub.callback", b'"form"')
_BETRAYING = 12  # characters: fewer of a secret are of no use, and other words would be taken for it


def without_secrets(record: bytes, request: FetchRequest | None) -> bytes:
    """The record as it may be set aside: without its form, so that nobody posts it again; of what cannot be read and
    may hold one, nothing. request: the record, read; None where it is none."""
    if request is None:
        return b"" if any(mark in record for mark in _MARKS) else record
    return encode_record(replace(request, form={})) if request.form else record


def hush(error: HttpError, request: FetchRequest) -> None:
    """Take from an error what it quotes of a form: a hub may repeat it in its answer, whole or cut short."""
    secrets = (request.form.get("hub.secret", ""), request.form.get("hub.callback", "").rpartition("/")[2])
    if any(len(secret) >= _BETRAYING and secret[:_BETRAYING] in error.detail for secret in secrets):
        error.detail = "what the hub answered quotes the form"
        error.args = (error.reason,)


def fault(request: FetchRequest, error: Exception) -> str:
    """Our own bug in a line: of a request with a form only its kind, for what went wrong with a form may quote it."""
    return type(error).__name__ if request.form else f"{type(error).__name__}: {error}"
