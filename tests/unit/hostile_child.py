"""An extraction child that misbehaves as the page's title tells it to: what native code or a regular expression might do.

Run as the program of an `ExtractionChild`; every other page it reads as production's does.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys
import time
from typing import Any

from udfs.articles import child


def misbehave(request: bytes) -> None:
    """Whatever the page asks for; returns where it asks for nothing."""
    found = re.search(rb"HOSTILE (\w+)", request)
    what = found[1].decode() if found else ""
    if what == "regex":
        re.match(r"(a+)+$", "a" * 64 + "b")
    elif what == "segfault":
        ctypes.string_at(0)
    elif what == "memory":
        held = []
        while True:
            held.append(bytearray(16 * 1024 * 1024))
    elif what == "native_memory":
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        while (at := libc.malloc(ctypes.c_size_t(16 * 1024 * 1024))) is not None:
            ctypes.memset(at, 1, 4096)
        os.abort()
    elif what == "hangs":
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(3_600)
    elif what == "exits":
        os._exit(3)
    elif what == "aborts":
        os.abort()
    elif what == "shuts":  # its socket, and lives on
        os.closerange(3, 64)
        time.sleep(3_600)
    elif what in ANSWERS:
        os.write(int(sys.argv[1]), ANSWERS[what])
        time.sleep(3_600)


# Instead of an answer: number and length are little-endian, the first page's number is 1.
ANSWERS = {
    "rubbish": b"\xff" * 64,
    "half_header": b"\x01\x00",
    "half_answer": b"\x01\x00\x00\x00\x00\x01\x00\x00{",
    "no_msgpack": b"\x01\x00\x00\x00\x04\x00\x00\x00\xc1\xc1\xc1\xc1",
    "no_extraction": b"\x01\x00\x00\x00\x01\x00\x00\x00\x80",
    "another_page": b"\x09\x00\x00\x00\x01\x00\x00\x00\x80",
    "endless": b"\x01\x00\x00\x00\xff\xff\xff\xff",
}

_answer = child._answer


def answer(data: bytes, *loaded: Any) -> bytes:
    """Misbehave, or answer as production does."""
    try:
        misbehave(data)
    except MemoryError:
        return child._encode(child.Rejection(reason="extract_out_of_memory", detail="test"))
    return _answer(data, *loaded)


if __name__ == "__main__":
    child._answer = answer
    sys.exit(child.main(sys.argv[1:]))
