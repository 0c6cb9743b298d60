"""A receiver: a thread that keeps a connection, and puts what comes through it into a push log.

A message is done with only when it is on the disk; a receiver acknowledges it after that, or notes with it
how far it is. A connection that breaks, or cannot be made, is tried again: after a second at first, and after
at most a minute. What the other side keeps meanwhile is then fetched, so that nothing is lost by a pause.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from rheos.addresses import Address, Allowed
from rheos.errors import RheosError
from rheos.sources.chunks import Chunk
from rheos.sources.decoding import Decoder, Messages
from rheos.sources.push import Note, PushLog

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds before the next try
# More bytes than this in the log that no batch has read: then nothing more is taken in.
BACKLOG = 256 << 20
MOST = 1000  # messages that go into the log at once
_LOOK = 0.1


class Message(NamedTuple):
    """What came at once; `time` is its own timestamp (microseconds), if it has one."""

    payload: bytes
    topic: str | None = None
    time: int | None = None


class Health(NamedTuple):
    """How a connection is: whether it stands, or `trouble` says why not; `failures` counts how often it was
    lost or could not be made."""

    connected: bool
    trouble: str | None
    failures: int


class Receiver(ABC):
    """One connection. `url` is as the user wrote it; it has no secrets. `prefix` is for blank nodes of this
    stream."""

    def __init__(
        self,
        url: str,
        prefix: str,
        decoder: Decoder,
        options: Mapping[str, str] | None = None,
        allowed: Allowed | None = None,
    ) -> None:
        self.url = url
        self.prefix = prefix
        self.decoder = decoder
        self.options = dict(options or {})
        known = self.known_options()
        for name in self.options:
            if name not in known:
                raise RheosError(f"{url}: unknown option {name!r}: there is {', '.join(sorted(known))}")
        self.address = self.parsed(allowed or Allowed())
        # Without a list, what the user names is allowed, and nothing else.
        listed = allowed is not None and allowed.places is not None
        self.allowed = allowed if listed and allowed else Allowed.of(()).also([self.place])
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._connected = False
        self._trouble: str | None = None
        self._failures = 0
        self._failed_in_a_row = 0
        self._clock = 0

    # --- what siblings say -------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def known_options(cls) -> Collection[str]:
        """The options that the configuration may have."""

    @abstractmethod
    def parsed(self, allowed: Allowed) -> Address:
        """The address of the URL, if all that it says is understood; AddressError if it is not allowed."""

    @abstractmethod
    def receive(self) -> None:
        """Connect, and `take` what comes until the connection ends. Call `up` when it stands. Any exception
        is the reason why it does not."""

    def interrupt(self) -> None:  # noqa: B027  most look at `stopping` often enough
        """Have `receive` return soon; from another thread."""

    @property
    def place(self) -> str:
        """The URL without what is not about the address."""
        host, port = self.address.host, self.address.port
        return f"{self.address.scheme}://{f'[{host}]' if ':' in host else host}:{port}"

    # --- from outside ------------------------------------------------------------------------------

    def start(self, log: PushLog, warn: Callable[[str], None]) -> None:
        """Begin, or go on where the log's note says."""
        if self._thread is not None:
            return
        self.log, self._warn = log, warn
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, daemon=True, name=f"rheos-receive-{self.url}")
        self._thread.start()

    def stop(self, seconds: float = 10.0) -> None:
        self._stopping.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            self.interrupt()
            thread.join(seconds)
        self._connected = False

    @property
    def health(self) -> Health:
        return Health(self._connected, self._trouble, self._failures)

    # --- for siblings ------------------------------------------------------------------------------

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    def up(self) -> None:
        """The connection stands."""
        if self._trouble is not None:
            self._warn(f"{self.url}: connected again")
        self._connected, self._trouble, self._failed_in_a_row = True, None, 0

    def pause(self, seconds: float) -> None:
        """Wait, but not if this is to stop."""
        self._stopping.wait(seconds)

    def take(self, messages: Sequence[Message], note: Note | None = None) -> None:
        """Have messages in the log, with how far the receiver then is; on the disk when it returns. OSError
        if that cannot be done. While too much waits in the log, this waits."""
        while self.log.backlog > BACKLOG and not self.stopping:
            self.pause(_LOOK)
        if messages or note is not None:
            chunk = self.decoded(messages)
            self.log.append(chunk.elements, bad=chunk.bad, note=note)

    def decoded(self, messages: Sequence[Message], blank_prefix: str | None = None) -> Chunk:
        """The elements of messages. A label of a blank node is another node in another message, and in
        another call, unless the prefix is given."""
        # The clock of a stream does not go back, or what came at the same moment would be late.
        self._clock = max(self._clock, time.time_ns() // 1000)
        arrival = pa.array([self._clock] * len(messages), pa.int64())
        return self.decoder.decode(
            Messages.of(
                pa.array([message.payload for message in messages], pa.binary()),
                topic=pa.array([message.topic for message in messages], pa.string()),
                time=pa.array([message.time for message in messages], pa.int64()),
                arrival=arrival,
            ),
            f"{self.prefix}{uuid.uuid4().hex[:16]}_" if blank_prefix is None else blank_prefix,
        )

    # --- the thread --------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self.stopping:
            try:
                self.receive()
                reason = "the connection was closed"
            except Exception as error:
                reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            if not self.stopping:
                self._down(reason)
                self.pause(self.next_pause())

    def _down(self, reason: str) -> None:
        """Tell of it once, not at every try."""
        if self._trouble is None:
            self._warn(f"{self.url}: {reason}; trying again until it works")
        self._connected, self._trouble = False, reason
        self._failures += 1
        self._failed_in_a_row += 1

    def next_pause(self) -> float:
        """Twice as long each time, and not the same for all who lost the same server."""
        longest: float = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(self._failed_in_a_row - 1, 10))
        return longest * random.uniform(0.5, 1.0)
