"""Manifests that the API server must take or refuse, with the words that tell the user what to change.

One table per kind. Each case is applied to our kinds on every supported version, and to the native kinds of 1.37 too,
which must judge alike, unless `differs` says why not. A case with `then` is about a change of an object that exists.
"""

from tests.controlplane.crd_cases.builders import Case
from tests.controlplane.crd_cases.job_changes import JOB_CHANGES
from tests.controlplane.crd_cases.jobs import JOBS
from tests.controlplane.crd_cases.pod_groups import POD_GROUPS
from tests.controlplane.crd_cases.workloads import WORKLOADS

CASES: tuple[Case, ...] = (*WORKLOADS, *POD_GROUPS, *JOBS, *JOB_CHANGES)
