"""docs/sinks.md has every sink, every option and every metric, and its commands are understood."""

from __future__ import annotations

import re
import shlex
import tomllib

import pytest

from rheos.addresses import Allowed
from rheos.cli.options import Full
from rheos.cli.outputs import outputs
from rheos.errors import RheosError
from rheos.server.metrics import SINKS
from rheos.sinks.base import SinkSpec
from rheos.sinks.opening import SCHEMES, Surroundings, open_sink
from tests.cli.command import ROOT
from tests.sinks.deliveries import no_session, no_stream

PAGE = (ROOT / "docs" / "sinks.md").read_text()
COMMANDS = re.findall(r"`(rheos run .*?)`", PAGE)
ADDRESSES = {
    "kafka": "kafka://h/t",
    "mqtt": "mqtt://h/t",
    "mqtts": "mqtts://h/t",
    "http": "http://h/",
    "https": "https://h/",
    "parquet": "parquet:d",
    "delta": "delta:d",
    "iceberg": "iceberg:t",
    "stream": "stream:http://ex/s",
    "file": "answers.csv",
}
AROUND = Surroundings(no_session, no_stream, Allowed())


def test_every_sink_is_on_the_page() -> None:
    assert ADDRESSES.keys() == SCHEMES.keys()
    for scheme in SCHEMES.keys() - {"file", "https"}:
        assert f"{scheme}:" in PAGE


@pytest.mark.parametrize("to", ADDRESSES.values())
def test_every_option_is_on_the_page(to: str) -> None:
    for option in open_sink(SinkSpec(to), AROUND).OPTIONS:
        assert re.search(rf"`{re.escape(option)}[`. ]|\"{re.escape(option)}", PAGE), option


@pytest.mark.parametrize("command", [command for command in COMMANDS if " -o " in command])
def test_every_command_names_sinks(command: str) -> None:
    words = shlex.split(command)
    named = [words[at + 1] for at, word in enumerate(words) if word == "-o"]
    found = outputs(named, None, Full.stop, None)
    for spec in (*found.files, *found.others):
        open_sink(spec, AROUND)


def test_every_metric_is_on_the_page() -> None:
    for name, *_ in SINKS:
        assert f"`rheos_{name}`" in PAGE


def test_the_file_of_options_is_understood() -> None:
    [text] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    for to, options in tomllib.loads(text).items():
        open_sink(SinkSpec(to, options=options), AROUND)


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("mqtt://h/t?retain=true", "mqtt://h:1883/t: options do not stand in the address"),
        ("mqtts://h/t?qos=1", "mqtts://h:8883/t: options do not stand in the address"),
        ("mqtt://h/city/#", "a topic without [+] and #"),
        ("mqtt://h/t#x", "a topic without [+] and #"),
        ("mqtt://h/+/t", "a topic without [+] and #"),
        ("kafka://h/t?acks=1", "options do not stand in the address"),
        ("kafka://h/t#x", "options do not stand in the address"),
    ],
)
def test_no_part_of_an_address_is_ignored(to: str, words: str) -> None:
    with pytest.raises(RheosError, match=words):
        open_sink(SinkSpec(to), AROUND)
