from __future__ import annotations

import pytest

from connectors.settings import Endpoints, SettingsError


def test_settings_survive_the_environment() -> None:
    endpoints = Endpoints(kafka="k1.example:9092,k2.example:9092", gateway="127.0.0.1:18090")
    assert Endpoints.from_mapping(endpoints.to_mapping()) == endpoints


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KAFKA", "foo"),
        ("KAFKA", "127.0.0.1:99999"),
        ("KAFKA", "127.0.0.1:²"),
        ("GATEWAY", "host:0"),
        ("S3_ENDPOINT", "foo"),
        ("S3_ENDPOINT", "http://[bad"),
        ("S3_ENDPOINT", "http://"),
        ("FLINK_REST", "http://127.0.0.1:port"),
        ("ORIGIN", "ftp://127.0.0.1"),
    ],
)
def test_an_address_that_is_none_is_refused_by_its_name(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"BROADSHEET_{name}"):
        Endpoints.from_mapping({f"BROADSHEET_{name}": value})
