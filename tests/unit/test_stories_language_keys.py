"""The table of Flink keys: bit-reversed key groups, and the JVM agrees."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from state_schemas.languages import LANGUAGES, UNKNOWN
from udfs.stories.language_keys import (
    MAX_PARALLELISM,
    key_group,
    language_key,
    language_of_key,
    wanted_key_group,
)

_PLACES = {language: place for place, language in enumerate(LANGUAGES)} | {UNKNOWN: MAX_PARALLELISM - 1}


def test_every_language_has_the_smallest_key_of_its_group():
    for language, place in _PLACES.items():
        key = language_key(language)
        wanted = wanted_key_group(place)
        assert next(number for number in range(10_000) if key_group(number) == wanted) == key
        assert language_of_key(key) == language


def test_the_largest_languages_stand_on_different_subtasks():
    for parallelism in (2, 4, 8, 16, 32):
        subtasks = {key_group(language_key(LANGUAGES[place])) * parallelism // 128 for place in range(parallelism)}
        assert len(subtasks) == parallelism


@pytest.mark.parametrize(("tag", "language"), [("pt-BR", "pt"), ("nb", "no"), ("tlh", "und"), ("", "und")])
def test_tags_share_the_key_of_their_language(tag, language):
    assert language_key(tag) == language_key(language)


def test_the_table_is_the_one_that_states_were_written_with():
    """Append only: these numbers are in savepoints."""
    assert [language_key(language) for language in ("en", "es", "de", "fr", "und")] == [250, 22, 13, 113, 85]


_ASK_THE_JVM = """
import json, sys
from pyflink.java_gateway import get_gateway

gateway = get_gateway()
jvm = gateway.jvm
assign = jvm.org.apache.flink.runtime.state.KeyGroupRangeAssignment.assignToKeyGroup
groups = []
for number in json.loads(sys.argv[1]):
    # What key_by makes of an element: a row of (key, element), of which the selector takes a row of the key.
    fields = gateway.new_array(jvm.java.lang.Object, 2)
    fields[0], fields[1] = number, bytearray(b"x")
    key = jvm.KeyByKeySelector().getKey(jvm.org.apache.flink.types.Row.of(fields))
    groups.append(assign(key, 128))
print(json.dumps(groups))
"""


def test_the_jvm_sends_each_key_to_the_group_we_computed():
    """In a process of its own, which takes the JVM with it when it ends."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("no Java on this machine")
    keys = [language_key(language) for language in _PLACES]
    asked = subprocess.run(
        [sys.executable, "-c", _ASK_THE_JVM, json.dumps(keys)], capture_output=True, text=True, timeout=120, check=True
    )
    assert json.loads(asked.stdout.splitlines()[-1]) == [key_group(key) for key in keys]
