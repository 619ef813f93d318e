"""Days of a cluster in seconds: the planner's own decisions under virtual time, and plain pod-by-pod placement beside.

    load       what arrives when: from a file, or made up from a seed
    run        one discrete-event run under one manner of scheduling
    figures    utilization, waits, waste and evictions of a run
    drawing    two or more runs as an SVG

Queue, backfill, holds and preemption are the planner's. What takes seconds in a cluster (reserving, the fence, binding,
graceful ends) takes no time here. Pure and deterministic: the same load gives the same figures everywhere.
"""
