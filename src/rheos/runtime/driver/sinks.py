"""The sinks of all queries: takes the answers of a batch from the loop, and gives them to
a delivery per sink."""

from __future__ import annotations

import hashlib
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from rheos.answers.continuous import QueryInfo
from rheos.errors import RheosError, SinkError
from rheos.runtime.driver.delivery import Delivery
from rheos.runtime.driver.metrics import SinkMetrics
from rheos.runtime.state.outbox import FOLDER, Outbox
from rheos.runtime.state.store import Store
from rheos.sinks.base import FULL, Sink, SinkSpec
from rheos.sinks.opening import Surroundings, open_sink

_RUN = f"{FOLDER}/run"
_LAST = 2.0  # seconds that sinks have to finish a batch when the engine ends


class Sinks:
    """The deliveries by the names of their queries. Any thread may call the methods for users. `fail` is
    called with the name of a query and the reason if one of its sinks fails for good."""

    def __init__(
        self,
        store: Callable[[], Store],
        around: Surroundings,
        *,
        warn: Callable[[str], None],
        fail: Callable[[str, str], None],
    ) -> None:
        self._store = store
        self.around = around
        self._warn = warn
        self._fail = fail
        self._lock = threading.RLock()
        self._deliveries: dict[str, list[Delivery]] = {}
        self._done: int | None = None  # the last batch that is done, once streams have been started
        self._run: str | None = None

    # --- for users -----------------------------------------------------------------------------------

    def add(self, query: QueryInfo, spec: SinkSpec, sink: Sink | None = None) -> None:
        """Add a sink to a query. RheosError if the sink cannot be used."""
        chosen = self._opened(query, spec, sink)
        with self._lock:
            known = self._deliveries.setdefault(query.name, [])
            if any(other.spec.to == spec.to for other in known):
                raise RheosError(f"the answers of {query.name} go to {spec.to} already")
            delivery = Delivery(
                query.name,
                spec,
                chosen,
                self._run_of(),
                Outbox(self._store(), outbox_name(query.name, spec.to)),
                warn=self._warn,
                fail=lambda reason: self._fail(query.name, reason),
            )
            known.append(delivery)
            if self._done is not None:
                delivery.recover(self._done)

    def check(self, query: QueryInfo, specs: Iterable[SinkSpec]) -> None:
        """Refuse sinks that could not be added."""
        for spec in specs:
            self._opened(query, spec)

    def assign(self, query: QueryInfo, specs: Sequence[SinkSpec]) -> None:
        """Give a query exactly these sinks; those that it has already go on. If one of them is refused,
        nothing is changed."""
        self.check(query, specs)
        wanted = {(spec.to, *spec.options.items()): spec for spec in specs}
        with self._lock:
            for delivery in list(self._deliveries.get(query.name, ())):
                same = wanted.pop((delivery.spec.to, *delivery.spec.options.items()), None)
                if same is None:
                    self.remove(query.name, delivery.spec.to)
                else:
                    delivery.spec = same  # its limit may have changed
        for spec in wanted.values():
            self.add(query, spec)

    def _opened(self, query: QueryInfo, spec: SinkSpec, sink: Sink | None = None) -> Sink:
        if spec.full not in FULL:
            raise RheosError(f"full is one of {', '.join(FULL)}, not {spec.full!r}")
        if spec.limit < 0:
            raise RheosError(f"a limit is a number of bytes, not {spec.limit}")
        chosen = open_sink(spec, self.around) if sink is None else sink
        chosen.check(query)
        return chosen

    def remove(self, query: str, to: str | None = None) -> None:
        """Remove a sink of a query, or all of them, and delete the answers that wait for them."""
        with self._lock:
            known = self._deliveries.get(query, [])
            gone = [delivery for delivery in known if to is None or delivery.spec.to == to]
            self._deliveries[query] = [delivery for delivery in known if delivery not in gone]
            if not self._deliveries[query]:
                del self._deliveries[query]
        for delivery in gone:
            left = delivery.remove()
            if left:
                self._warn(f"{query}: {left:,} answers were not taken by {delivery.spec.to} and are given up")

    def specs(self, query: str) -> list[SinkSpec]:
        with self._lock:
            return [delivery.spec for delivery in self._deliveries.get(query, ())]

    def metrics(self) -> dict[str, list[SinkMetrics]]:
        with self._lock:
            known = {query: list(found) for query, found in self._deliveries.items()}
        return {query: [delivery.metrics() for delivery in found] for query, found in known.items()}

    def retry(self, query: str) -> None:
        """Try again the sinks of a query that have failed."""
        with self._lock:
            for delivery in self._deliveries.get(query, ()):
                delivery.retry()

    # --- for the loop --------------------------------------------------------------------------------

    def recover(self, done: int) -> None:
        """Begin after batch `done`, the last one in the journal."""
        with self._lock:
            self._done = done
            for delivery in self._all():
                delivery.recover(done)

    def put(self, number: int, answers: Iterable[tuple[QueryInfo, pa.Table]]) -> dict[str, str]:
        """Write the answers of a batch to the outboxes, before the batch is done. The result is the queries
        that must be stopped, and why."""
        failures = {}
        with self._lock:
            for query, rows in answers:
                for delivery in self._deliveries.get(query.name, ()) if rows.num_rows else ():
                    reason = delivery.put(number, query, rows)
                    if reason is not None:
                        failures[query.name] = reason
        return failures

    def release(self, number: int) -> None:
        """Batch `number` is done: its answers may go out."""
        with self._lock:
            self._done = number
            for delivery in self._all():
                delivery.release()

    # --- the end -------------------------------------------------------------------------------------

    def drain(self, seconds: float) -> None:
        """Wait until all sinks have taken all answers; SinkError if they have not after so many seconds."""
        deadline = time.monotonic() + seconds
        with self._lock:
            waiting = list(self._all())
        late = [delivery for delivery in waiting if not delivery.drain(deadline)]
        if late:
            told = "; ".join(self._left(delivery, delivery.metrics().waiting) for delivery in late)
            raise SinkError(f"after {seconds:g} s {told}")

    def close(self) -> None:
        """Stop all deliveries within `_LAST` seconds, and warn of the answers that are left."""
        with self._lock:
            closing, self._deliveries = list(self._all()), {}
            self._done = self._run = None
        deadline = time.monotonic() + _LAST
        for delivery in closing:
            left = delivery.close(max(0.1, deadline - time.monotonic()))
            if left:
                self._warn(self._left(delivery, left))

    def _left(self, delivery: Delivery, left: int) -> str:
        found = delivery.metrics()
        why = f" ({found.trouble})" if found.trouble else ""
        fate = "wait in the checkpoint" if self._store().durable else "are lost without a checkpoint"
        return f"{left:,} answers of {delivery.query} were not taken by {found.to}{why} and {fate}"

    def _all(self) -> Iterable[Delivery]:
        return (delivery for found in self._deliveries.values() for delivery in found)

    def _run_of(self) -> str:
        """The name of this run. It is kept in the checkpoint, as the numbers of batches are, so that both
        together identify a batch."""
        if self._run is None:
            store = self._store()
            found = store.read(_RUN)
            self._run = uuid.uuid4().hex[:16] if found is None else found.decode()
            if found is None:
                store.write(_RUN, self._run.encode())
        return self._run


def outbox_name(query: str, to: str) -> str:
    plain = "".join(mark if mark.isalnum() else "-" for mark in query)[:40]
    return f"{plain}-{hashlib.blake2b(f'{query} {to}'.encode(), digest_size=8).hexdigest()}"
