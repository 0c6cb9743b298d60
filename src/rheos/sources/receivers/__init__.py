"""Receivers: messages from a broker or the Web become elements in a log on the driver's disk.

    a connection ─▶ messages ─ decoder ─▶ elements ─▶ push log (durable) ─▶ acknowledged ─▶ read by tasks

Each kind of source is a module with a class; `base.Receiver` is what these classes share.
"""
