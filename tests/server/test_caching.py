"""Validators: what a client that has something already is told."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime

import pytest

from rheos.server.caching import Version, http_date

AT = 1_767_225_605_000_000  # 2026-01-01T00:00:05Z
DATE = "Thu, 01 Jan 2026 00:00:05 GMT"


@pytest.mark.parametrize(
    ("headers", "known"),
    [
        ({}, False),
        ({"if-none-match": '"abc"'}, True),
        ({"if-none-match": 'W/"abc"'}, True),
        ({"if-none-match": '"x", W/"abc" ,"y"'}, True),
        ({"if-none-match": "*"}, True),
        ({"if-none-match": '"x"'}, False),
        ({"if-none-match": "abc"}, False),
        ({"if-none-match": '"x"', "if-modified-since": DATE}, False),  # the tag is what counts
        ({"if-modified-since": DATE}, True),
        ({"if-modified-since": "Thu, 01 Jan 2026 00:00:06 GMT"}, True),
        ({"if-modified-since": "Thu, 01 Jan 2026 00:00:04 GMT"}, False),
        ({"if-modified-since": "yesterday"}, False),
    ],
)
def test_what_is_known(headers: dict[str, str], known: bool) -> None:
    assert Version('"abc"', AT + 250_000, AT).is_known(headers) is known


def test_a_date_does_not_tell_two_states_of_one_second_apart() -> None:
    version = Version('"abc"', AT, AT, ambiguous=True)
    assert not version.is_known({"if-modified-since": DATE})
    assert version.is_known({"if-none-match": '"abc"'})


def test_headers() -> None:
    assert Version('"abc"', AT, AT + 10_000_000).headers == {
        "ETag": '"abc"',
        "Last-Modified": DATE,
        "Expires": "Thu, 01 Jan 2026 00:00:15 GMT",
    }
    assert "Last-Modified" not in Version('"abc"', None, AT).headers
    tomorrow = time.time_ns() // 1000 + 86_400_000_000
    told = Version('"abc"', tomorrow, tomorrow).headers["Last-Modified"]
    assert parsedate_to_datetime(told) <= parsedate_to_datetime(http_date(tomorrow))
    assert http_date(-(10**18)) == "Thu, 01 Jan 1970 00:00:00 GMT"
    assert http_date(10**18) == "Fri, 31 Dec 9999 23:59:59 GMT"
