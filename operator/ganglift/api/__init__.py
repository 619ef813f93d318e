"""Frozen models of what the operator reads: our own kinds, and narrow views of Pod, Node and Job. No I/O."""
