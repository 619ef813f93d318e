"""The chart brings the CRDs of crds/, and leaves them when it goes."""

import yaml
from tests.chart.rendering import REPOSITORY, Manifest, of_kind, render

SOURCES = sorted((REPOSITORY / "crds").glob("*.yaml"))


def crds() -> list[Manifest]:
    return sorted(of_kind(render(), "CustomResourceDefinition"), key=_name)


def test_the_charts_crds_are_those_of_the_source() -> None:
    rendered = crds()
    for crd in rendered:
        del crd["metadata"]["annotations"]["helm.sh/resource-policy"]
        if not crd["metadata"]["annotations"]:
            del crd["metadata"]["annotations"]
    assert rendered == sorted((yaml.safe_load(source.read_text()) for source in SOURCES), key=_name)


def test_uninstalling_keeps_each_crd() -> None:
    policies = {_name(crd): crd["metadata"]["annotations"]["helm.sh/resource-policy"] for crd in crds()}
    assert policies == {
        "jobs.batch.ganglift.dev": "keep",
        "podgroups.scheduling.ganglift.dev": "keep",
        "workloads.scheduling.ganglift.dev": "keep",
    }


def test_crds_can_be_left_to_the_administrator() -> None:
    assert not of_kind(render({"crds": {"install": False}}), "CustomResourceDefinition")


def _name(crd: Manifest) -> str:
    name: str = crd["metadata"]["name"]
    return name
