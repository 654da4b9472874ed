"""The language keys against Flink's own assignment of key groups, in the JVM that PyFlink brings."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from state_schemas.languages import LANGUAGES, UNKNOWN
from udfs.stories.language_keys import MAX_PARALLELISM, key_group, language_key, language_of_key, wanted_key_group

# As the JVM of Flink 2.3.0 gives them; they stand here for machines without Java. und: the last that bitreverse reaches.
PINNED = {"en": 0, "es": 64, "de": 32, "fr": 96, "pt": 16, "ru": 80, "ja": 48, "ar": 112, "zh": 8, UNKNOWN: 127}
# In a process of its own, which takes the gateway with it. Prints the type that key_by keys by, and the key groups.
ASK_JVM = """
import json, sys
from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.java_gateway import get_gateway

env = StreamExecutionEnvironment.get_execution_environment()
pair = Types.TUPLE([Types.INT(), Types.STRING()])
keyed = env.from_collection([(1, "a")], type_info=pair).key_by(lambda pair: pair[0], key_type=Types.INT())
jvm = get_gateway().jvm
groups = []
for key in json.loads(sys.argv[1]):
    row = jvm.org.apache.flink.types.Row(1)
    row.setField(0, key)
    groups.append(jvm.org.apache.flink.runtime.state.KeyGroupRangeAssignment.assignToKeyGroup(row, int(sys.argv[2])))
print(json.dumps([keyed._j_data_stream.getKeyType().toString(), groups]))
get_gateway().shutdown()
"""


def test_the_jvm_agrees():
    if shutil.which("java") is None:
        pytest.skip("needs Java; the pinned key groups are tested without")
    keys = [language_key(language) for language in (*LANGUAGES, UNKNOWN)] + [0, 1, 1_000_003, (1 << 31) - 1]
    asked = [sys.executable, "-c", ASK_JVM, json.dumps(keys), str(MAX_PARALLELISM)]
    answer = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=True)
    key_type, groups = json.loads(answer.stdout.splitlines()[-1])
    assert key_type == "Row(f0: Integer)"
    assert groups == [key_group(key) for key in keys]


@pytest.mark.parametrize(("language", "group"), list(PINNED.items()))
def test_pinned_key_groups(language, group):
    assert key_group(language_key(language)) == group


@pytest.mark.parametrize(("place", "language"), list(enumerate(LANGUAGES)))
def test_the_i_th_language_stands_in_key_group_bitreverse_i(place, language):
    reversed_bits = sum(((place >> bit) & 1) << (6 - bit) for bit in range(7))
    assert wanted_key_group(place) == reversed_bits
    assert key_group(language_key(language)) == reversed_bits
    assert language_of_key(language_key(language)) == language


@pytest.mark.parametrize("parallelism", [1, 2, 4, 8, 16, 32, 64])
def test_at_any_power_of_two_the_largest_languages_stand_apart(parallelism):
    """Flink gives key group g to subtask g * parallelism // max parallelism."""
    subtasks = {key_group(language_key(one)) * parallelism // MAX_PARALLELISM for one in LANGUAGES[:parallelism]}
    assert subtasks == set(range(parallelism))


def test_no_two_languages_share_a_key():
    keys = [language_key(language) for language in (*LANGUAGES, UNKNOWN)]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("tag", ["", "und", "xx", "tlh-Latn", "zz_ZZ", "e", "english"])
def test_unknown_languages_share_one_key(tag):
    assert language_key(tag) == language_key(UNKNOWN)
    assert language_of_key(language_key(tag)) == UNKNOWN


@pytest.mark.parametrize(
    ("tag", "base"), [("pt-BR", "pt"), ("zh_Hant_TW", "zh"), ("EN", "en"), ("nb", "no"), ("iw", "he")]
)
def test_regional_tags_share_their_languages_key(tag, base):
    assert language_key(tag) == language_key(base)


def test_a_number_that_is_no_key_is_refused():
    with pytest.raises(KeyError):
        language_of_key(2)
