"""A receiver: a thread that keeps a connection, and puts the messages that come through it into a push log.

A receiver acknowledges a message only when it is on the disk, or writes a note about how far it has read in
the same record. A connection that breaks, or cannot be made, is tried again: after a second at first, and
after at most a minute. Messages that the other side has kept meanwhile are then fetched.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import ClassVar, NamedTuple

import pyarrow as pa

from rheos.addresses import Address, Allowed
from rheos.errors import RheosError
from rheos.sources.chunks import Chunk
from rheos.sources.clocks import OWN, Clock
from rheos.sources.decoding import Decoder, Messages
from rheos.sources.push import Note, PushLog

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds before the next try
# If the log has more bytes than this that no batch has read, no more messages are taken.
BACKLOG = 256 << 20
MOST = 1000  # messages that are written to the log at once
_LOOK = 0.1


class Message(NamedTuple):
    """A message. `time` is its own timestamp (microseconds), if it has one."""

    payload: bytes
    topic: str | None = None
    time: int | None = None


class Health(NamedTuple):
    """The state of a connection: whether it stands, and if not, `trouble` says why. `failures` counts how
    often the connection was lost or could not be made."""

    connected: bool
    trouble: str | None
    failures: int


class Receiver(ABC):
    """One connection. `url` is as the user wrote it; it has no secrets. `prefix` is the prefix for the blank
    nodes of the stream."""

    TIMED: ClassVar[bool] = False  # whether messages have a timestamp of their own

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
        self.check_clock(getattr(decoder, "clock", OWN), url)
        self.address = self.parsed(allowed or Allowed())
        # Without a list of allowed places, only the place that the user names is allowed.
        listed = allowed is not None and allowed.places is not None
        self.allowed = allowed if listed and allowed else Allowed.of(()).also([self.place])
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._connected = False
        self._trouble: str | None = None
        self._failures = 0
        self._failed_in_a_row = 0
        self._clock = 0

    @classmethod
    def check_clock(cls, clock: Clock, url: str) -> None:
        """Refuse a clock that can never give a time."""
        if clock.kind == "message" and not cls.TIMED:
            raise RheosError(
                f"{url}: its messages have no time of their own: say field:NAME, property:IRI or arrival"
            )

    # --- what subclasses define --------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def known_options(cls) -> Collection[str]:
        """The names of the options that a user may give."""

    @abstractmethod
    def parsed(self, allowed: Allowed) -> Address:
        """Read the URL; returns its address. LoadError if a part of the URL is not understood, AddressError
        if the address is not allowed."""

    @abstractmethod
    def receive(self) -> None:
        """Connect, and `take` messages until the connection ends. Call `up` when the connection stands. An
        exception says why it does not, or why it was lost."""

    def interrupt(self) -> None:  # noqa: B027  most receivers look at `stopping` often enough
        """Make `receive` return soon; called from another thread."""

    @property
    def place(self) -> str:
        """The scheme, the host and the port of the URL."""
        host, port = self.address.host, self.address.port
        return f"{self.address.scheme}://{f'[{host}]' if ':' in host else host}:{port}"

    # --- from outside ------------------------------------------------------------------------------

    def start(self, log: PushLog, warn: Callable[[str], None]) -> None:
        """Start the thread. It goes on where the note of the log says."""
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

    # --- for subclasses ----------------------------------------------------------------------------

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    def up(self) -> None:
        """Note that the connection stands."""
        if self._trouble is not None:
            self._warn(f"{self.url}: connected again")
        self._connected, self._trouble, self._failed_in_a_row = True, None, 0

    def pause(self, seconds: float) -> None:
        """Wait, but no longer than until this receiver is to stop."""
        self._stopping.wait(seconds)

    def take(self, messages: Sequence[Message], note: Note | None = None) -> None:
        """Write messages to the log, with a note about how far the receiver then is. They are on the disk
        when this returns; OSError if that fails. This waits while the log has too much that is not read."""
        self.wait_for_room()
        if messages or note is not None:
            chunk = self.decoded(messages)
            self.log.append(chunk.elements, bad=chunk.bad, note=note)

    def wait_for_room(self) -> None:
        """Wait while the log has too much that no batch has read."""
        while self.log.backlog > BACKLOG and not self.stopping:
            self.pause(_LOOK)

    def decoded(
        self, messages: Sequence[Message], blank_prefix: str | None = None, decoder: Decoder | None = None
    ) -> Chunk:
        """The elements of messages. The same label of a blank node stands for another node in another message
        and, unless the prefix is given, in another call. The decoder is that of the stream, unless another is
        given."""
        # The clock must not go back, or elements that came at the same moment would be late.
        self._clock = max(self._clock, time.time_ns() // 1000)
        arrival = pa.array([self._clock] * len(messages), pa.int64())
        return (decoder or self.decoder).decode(
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
        """Note that the connection is lost. The warning is given once, not at every try."""
        if self._trouble is None:
            self._warn(f"{self.url}: {reason}; trying again until it works")
        self._connected, self._trouble = False, reason
        self._failures += 1
        self._failed_in_a_row += 1

    def next_pause(self) -> float:
        """The seconds before the next try: about twice as long each time, and random, so that not all clients
        of a lost server come back at once."""
        longest: float = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(self._failed_in_a_row - 1, 10))
        return longest * random.uniform(0.5, 1.0)
