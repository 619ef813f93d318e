"""Wiring of the operator: what runs in one process, in which order it starts, and how it ends."""
