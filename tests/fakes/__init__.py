"""Stand-ins for what ganglift talks to."""
