"""Days of a cluster in seconds: gangs come, run and end in virtual time, and the operator's own code decides.

scenario    what is simulated, from YAML           load       gangs made up from a seed
gangs       a gang, and the API objects it is      agenda     what happens when
world       gangs' lives: members get places,      meter      what all the GPUs did meanwhile
            work, are evicted, end
gangwise    decides as the operator does: its      podwise    decides as kube-scheduler does by itself,
            cache, queue, planner, holds, ...                 one pod after the other
clock       virtual time, and an event loop
            that never waits
simulation  one scenario under one of the two      results    what came of it, as values
report      results as data and rows               drawing    results as a picture

Not simulated is what takes milliseconds to seconds: the protocol of reserving, confirming and lifting. A gang that fits
starts at once.
"""
