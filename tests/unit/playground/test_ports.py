"""Ports are free, different, and out of the way of outgoing connections."""

import random
import socket
from dataclasses import astuple

import pytest

from ganglift.playground import ports


def test_ports_differ_and_are_below_the_range_of_outgoing_connections() -> None:
    chosen = astuple(ports.choose_ports())
    assert len(set(chosen)) == len(chosen)
    assert all(20000 <= port < 32768 for port in chosen)


def test_a_port_in_use_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        free = astuple(ports.choose_ports())
        monkeypatch.setattr(random, "sample", lambda population, k: [taken, *free])
        assert taken not in astuple(ports.choose_ports())
