"""Addresses of sources and sinks: their parts, what is refused, and what may be contacted."""

from __future__ import annotations

import pytest

from rheos.addresses import Address, AddressError, Allowed, address, allowed_place


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("http://ex.org/a?b=c", Address("http", (("ex.org", 80),), "/a", "b=c")),
        ("http://ex.org/a#", Address("http", (("ex.org", 80),), "/a", "", "#")),
        ("poll+https://EX.org/", Address("https", (("ex.org", 443),), "/", "")),
        ("mqtt://[::1]:1884/city/+/t", Address("mqtt", (("::1", 1884),), "/city/+/t", "")),
        ("kafka://a:1,b/topic", Address("kafka", (("a", 1), ("b", 9092)), "/topic", "")),
    ],
)
def test_the_parts_of_a_url(url: str, parts: Address) -> None:
    assert address(url) == parts


def test_a_secret_is_refused_and_not_repeated() -> None:
    with pytest.raises(AddressError, match="no user and no password") as found:
        address("mqtt://me:secret@host/topic")
    assert "secret" not in str(found.value)


@pytest.mark.parametrize(
    "url", ["http:///path", "http://a:99999/", "ftp://a/", "kafka://a,,b/t", "kafka://a b/t"]
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(AddressError):
        address(url)


def test_only_what_is_allowed_is_contacted() -> None:
    allowed = Allowed.of(["a.org:80", "b.org"])
    assert allowed.check("http://a.org/x").host == "a.org"
    assert allowed.check("https://b.org:8443/").port == 8443
    for url in ("http://a.org:81/", "http://c.org/", "kafka://b.org,c.org/t", "http://a.org.evil/"):
        with pytest.raises(AddressError, match="is not allowed"):
            allowed.check(url)
    assert allowed.also(["http://c.org/"]).check("http://c.org/elsewhere")
    assert Allowed.of(None).check("http://c.org/")
    with pytest.raises(AddressError):
        Allowed.of([]).check("http://127.0.0.1/")


@pytest.mark.parametrize("text", ["", "a:b", "http://a", "a/b", "a:70000"])
def test_what_cannot_be_allowed(text: str) -> None:
    with pytest.raises(ValueError, match="expected host:port"):
        allowed_place(text)
