"""What ganglift expects of an API server, as tests.

Each suite is a class of tests that takes a `Server`. It runs against the fake in `tests/unit/kube` and against real API
servers in `tests/controlplane`, so the fake can't drift from what it stands for.
"""
