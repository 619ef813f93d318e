"""Our kinds held against the schemas of their CustomResourceDefinitions."""

from typing import Any

import pytest
from tests.unit.offline.ask import SCHEMAS

from ganglift.offline.schema import violations

GROUP = SCHEMAS["scheduling.ganglift.dev", "PodGroup"]
WORKLOAD = SCHEMAS["scheduling.ganglift.dev", "Workload"]
JOB = SCHEMAS["batch.ganglift.dev", "Job"]
POLICY = {"schedulingPolicy": {"gang": {"minCount": 2}}}


def said(schema: Any, spec: Any) -> list[str]:
    return [f"{field}: {words}" for field, words in violations(schema, {"metadata": {"name": "x"}, "spec": spec})]


def test_all_three_kinds_have_their_schema() -> None:
    assert set(SCHEMAS) == {
        ("scheduling.ganglift.dev", "PodGroup"),
        ("scheduling.ganglift.dev", "Workload"),
        ("batch.ganglift.dev", "Job"),
    }


@pytest.mark.parametrize(
    ("schema", "spec"),
    [
        (GROUP, POLICY),
        (GROUP, POLICY | {"schedulingConstraints": {"topology": [{"key": "rack", "mode": "Preferred", "slices": 2}]}}),
        (WORKLOAD, {"podGroupTemplates": [{"name": "a", **POLICY}, {"name": "b", **POLICY}]}),
        (
            JOB,
            {
                "parallelism": 2,
                "template": {"metadata": {}, "spec": {"anything": {"goes": 1}, "containers": [{"name": "a", "x": 1}]}},
            },
        ),
    ],
)
def test_object_that_keeps_to_its_schema_is_let_pass(schema: Any, spec: Any) -> None:
    assert said(schema, spec) == []


@pytest.mark.parametrize(
    ("schema", "spec", "words"),
    [
        (GROUP, [], "spec: [] is not an object"),
        (GROUP, {}, "spec.schedulingPolicy: is missing"),
        (GROUP, POLICY | {"priority": True}, "spec.priority: True is not a whole number"),
        (GROUP, POLICY | {"priority": 2_000_000_000}, "spec.priority: 2000000000 is more than 1000000000"),
        (GROUP, POLICY | {"preemptionPolicy": "Maybe"}, "spec.preemptionPolicy: 'Maybe' is none of "),
        (GROUP, POLICY | {"minCount": 2}, "spec.minCount: there is no such field"),
        (
            GROUP,
            POLICY | {"schedulingConstraints": {"topology": [{"key": ""}]}},
            "spec.schedulingConstraints.topology[0].key: '' is shorter than 1",
        ),
        (
            GROUP,
            POLICY | {"schedulingConstraints": {"topology": [{"key": k} for k in "abcd"]}},
            "spec.schedulingConstraints.topology: has more items than 3",
        ),
        (
            WORKLOAD,
            {"podGroupTemplates": [{"name": "a", **POLICY}, {"name": "a", **POLICY}]},
            "spec.podGroupTemplates[1]: there is another of name 'a'",
        ),
    ],
)
def test_object_that_breaks_its_schema_is_told_the_field(schema: Any, spec: Any, words: str) -> None:
    assert any(words in one for one in said(schema, spec)), said(schema, spec)
