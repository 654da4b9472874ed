"""The table of refused forms: what is never asked, whoever writes it and however."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.addresses import AddressPolicy, address_refusal, ipv4_of, parse, url_refusal

REFUSED_ADDRESSES = [
    ("0.0.0.0", "this network"),
    ("10.1.2.3", "private"),
    ("100.64.0.1", "carrier-grade NAT"),
    ("100.127.255.254", "carrier-grade NAT, last"),
    ("127.0.0.1", "loopback"),
    ("127.255.255.254", "loopback, last"),
    ("169.254.169.254", "cloud metadata, link-local"),
    ("169.254.170.2", "container credentials, link-local"),
    ("100.100.100.200", "cloud metadata, carrier-grade NAT"),
    ("168.63.129.16", "cloud host's service, a public number"),
    ("172.16.0.1", "private"),
    ("172.31.255.255", "private, last"),
    ("192.0.0.192", "cloud metadata, protocol assignments"),
    ("192.0.2.7", "documentation"),
    ("192.88.99.1", "6to4 relay"),
    ("192.168.0.1", "private"),
    ("198.18.0.1", "benchmarks"),
    ("198.51.100.1", "documentation"),
    ("224.0.0.251", "multicast"),
    ("239.255.255.250", "multicast"),
    ("240.0.0.1", "reserved"),
    ("255.255.255.255", "broadcast"),
    ("::", "unspecified"),
    ("::1", "loopback"),
    ("::7f00:1", "IPv4-compatible"),
    ("::ffff:127.0.0.1", "IPv4-mapped"),
    ("::ffff:8.8.8.8", "IPv4-mapped, though public"),
    ("::ffff:0:127.0.0.1", "IPv4-translated"),
    ("64:ff9b::7f00:1", "NAT64"),
    ("64:ff9b::8.8.8.8", "NAT64, though public"),
    ("64:ff9b:1::1", "local NAT64"),
    ("100::1", "discard"),
    ("2001::1", "Teredo"),
    ("2001:0:53aa:64c:0:7a80:80ff:fffe", "Teredo of loopback"),
    ("2001:10::1", "ORCHID"),
    ("2001:db8::1", "documentation"),
    ("2002:7f00:1::", "6to4 of loopback"),
    ("2002:a9fe:a9fe::1", "6to4 of cloud metadata"),
    ("3fff::1", "documentation"),
    ("fc00::1", "unique local"),
    ("fd00:ec2::254", "cloud metadata, unique local"),
    ("fd20:ce::254", "cloud metadata, unique local"),
    ("5f00::1", "segment routing"),
    ("fe80::1", "link-local"),
    ("fe80::1%eth0", "link-local with a zone"),
    ("fec0::1", "site-local"),
    ("ff02::1", "multicast"),
    ("news.example", "a name is no address"),
    ("", "nothing"),
]


@pytest.mark.parametrize(("address", "kind"), REFUSED_ADDRESSES, ids=[f"{a}-{k}" for a, k in REFUSED_ADDRESSES])
def test_an_address_that_is_not_public_is_refused(address: str, kind: str) -> None:
    assert address_refusal(address) == "private_address", kind


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "100.63.255.255", "172.32.0.1", "2606:4700:4700::1111"])
def test_a_public_address_passes(address: str) -> None:
    assert address_refusal(address) is None


REFUSED_URLS = [
    ("http://127.0.0.1/", "private_address"),
    ("http://127.1/", "private_address"),
    ("http://2130706433/", "private_address"),
    ("http://0x7f000001/", "private_address"),
    ("http://0x7f.1/", "private_address"),
    ("http://0X7F.0.0.1/", "private_address"),
    ("http://017700000001/", "private_address"),
    ("http://0177.0.0.01/", "private_address"),
    ("http://127.0.0.1./", "private_address"),
    ("http://0/", "private_address"),
    ("http://0x/", "private_address"),
    ("http://１２７.０.０.１/", "private_address"),
    ("http://127。0。0。1/", "private_address"),
    ("http://[::1]/", "private_address"),
    ("http://[::ffff:127.0.0.1]:8080/", "private_address"),
    ("http://[0:0:0:0:0:ffff:7f00:1]/", "private_address"),
    ("http://[64:ff9b::a9fe:a9fe]/", "private_address"),
    ("http://[fe80::1%25eth0]/", "private_address"),
    ("http://169.254.169.254/latest/meta-data", "private_address"),
    ("http://2852039166/latest", "private_address"),
    ("http://localhost/", "private_address"),
    ("http://LOCALHOST./", "private_address"),
    ("http://ⓛocalhost/", "private_address"),
    ("http://a.b.localhost/", "private_address"),
    ("http://intranet/", "private_address"),
    ("http://printer.local/", "private_address"),
    ("http://metadata.google.internal/", "private_address"),
    ("http://Metadata.Google.Internal./computeMetadata/v1/", "private_address"),
    ("http://metadata/", "private_address"),
    ("http://instance-data/latest/meta-data", "private_address"),
    ("http://instance-data.ec2.internal/", "private_address"),
    ("http://[fd00:ec2::254]/latest", "private_address"),
    ("http://[2002:a9fe:a9fe::]/", "private_address"),
    ("http://[2001:0:53aa:64c:0:7a80:80ff:fffe]/", "private_address"),
    ("http://168.63.129.16/machine", "private_address"),
    ("http://100.100.100.200/latest", "private_address"),
    ("http://1.2.3.4.5/", "url_malformed"),
    ("http://256.1.1.1/", "url_malformed"),
    ("http://news.0x7f.09/", "url_malformed"),
    ("http://%31%32%37.0.0.1/", "url_malformed"),
    ("http://a..b/", "url_malformed"),
    ("http:///feed", "url_malformed"),
    ("http://news.example/" + "a" * 9000, "url_malformed"),
    ("file:///etc/passwd", "scheme_refused"),
    ("ftp://news.example/", "scheme_refused"),
    ("gopher://127.0.0.1:25/", "scheme_refused"),
    ("javascript:alert(1)", "scheme_refused"),
    ("//news.example/feed", "scheme_refused"),
    ("feed", "scheme_refused"),
    ("", "scheme_refused"),
    ("http://u:p@10.0.0.8/", "credentials_in_url"),
    ("http://user@news.example/", "credentials_in_url"),
    ("http://:@news.example/", "credentials_in_url"),
    ("http://news.example:8080/", "port_refused"),
    ("https://news.example:22/", "port_refused"),
    ("http://news.example:0/", "port_refused"),
]


@pytest.mark.parametrize(("url", "reason"), REFUSED_URLS, ids=[u[:60] for u, _ in REFUSED_URLS])
def test_a_url_that_is_never_asked(url: str, reason: str) -> None:
    parsed = parse(url)
    assert parsed is not None
    assert url_refusal(parsed, AddressPolicy()) == reason


@pytest.mark.parametrize(
    "url",
    ["http://evil.example\\@127.0.0.1/", "http://news.example:99999/", "http://[::1/", "http://[::g]/", "http://"],
)
def test_what_is_no_url_is_none_or_refused(url: str) -> None:
    parsed = parse(url)
    assert parsed is None or url_refusal(parsed, AddressPolicy())


@pytest.mark.parametrize(
    "url",
    [
        "http://news.example/feed",
        "https://news.example:443/feed?q=1#part",
        "HTTPS://NEWS.EXAMPLE/",
        "http://bücher.example/",
        "http://xn--bcher-kva.example/",
        "http://under_score.example/",
        "http://news.example:80/",
        "http://8.8.8.8/",
        "http://news.example./",
    ],
)
def test_an_ordinary_url_passes(url: str) -> None:
    parsed = parse(url)
    assert parsed is not None
    assert url_refusal(parsed, AddressPolicy()) is None


def test_a_gateway_takes_names_at_any_port_and_no_literal_at_all() -> None:
    through_gateway = AddressPolicy(gateway=True)
    for url, reason in [
        ("http://news.example:8099/", None),
        ("http://8.8.8.8/", "address_literal"),
        ("http://134744072/", "address_literal"),
        ("http://[2606:4700:4700::1111]/", "address_literal"),
        ("http://127.0.0.1:8099/", "private_address"),
        ("http://localhost:8099/", "private_address"),
        ("http://wire.localhost/", None),
    ]:
        parsed = parse(url)
        assert parsed is not None
        assert url_refusal(parsed, through_gateway) == reason, url


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["{:d}", "{:#x}", "0{:o}"]))
def test_each_notation_of_an_ipv4_address_is_read_as_that_address(value: int, form: str) -> None:
    assert ipv4_of(form.format(value)) == str(ipaddress.IPv4Address(value))


@settings(deadline=None)
@given(st.ip_addresses(v=4), st.lists(st.sampled_from(["{:d}", "{:#x}", "0{:o}"]), min_size=4, max_size=4))
def test_mixed_notations_in_four_parts(address: ipaddress.IPv4Address, forms: list[str]) -> None:
    written = ".".join(form.format(part) for form, part in zip(forms, address.packed, strict=True))
    assert ipv4_of(written) == str(address)


def test_a_name_is_no_ipv4_address() -> None:
    assert ipv4_of("news.example") is None
    assert ipv4_of("1.news") is None
