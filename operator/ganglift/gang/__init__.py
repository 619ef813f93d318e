"""What a gang is, at any moment and without I/O: who belongs to it, how many must start, what should exist.

Everything here is a pure function of objects read from the API. The engine asks who is a member and what is needed,
the handlers ask which objects should exist, and both get values back: an `Outcome` to show, `Action`s to carry out.
"""
