"""The Jobs of the demonstration: one manifest, without a gang and with one."""

from typing import Any

from ganglift.api.names import BATCH_API

WORKERS = 4


def plain_job(name: str) -> dict[str, Any]:
    """A batch/v1 Job of four workers that need one GPU each and wait for each other before they do anything."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "parallelism": WORKERS,
            "completions": WORKERS,
            "completionMode": "Indexed",
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "terminationGracePeriodSeconds": 0,
                    "containers": [
                        {
                            "name": "worker",
                            "image": "busybox:1.37",
                            "command": ["sleep", "600"],
                            "resources": {"limits": {"nvidia.com/gpu": 1}},
                        }
                    ],
                }
            },
        },
    }


def gang_job(name: str) -> dict[str, Any]:
    """The same Job as a gang: another apiVersion, and one more field."""
    job = plain_job(name)
    scheduling = {"schedulingPolicy": {"gang": {"minCount": WORKERS}}}
    return job | {"apiVersion": BATCH_API, "spec": job["spec"] | {"scheduling": scheduling}}


def min_count(count: int) -> dict[str, Any]:
    """The merge patch of a gang Job's minCount."""
    return {"spec": {"scheduling": {"schedulingPolicy": {"gang": {"minCount": count}}}}}
