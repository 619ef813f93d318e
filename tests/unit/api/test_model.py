"""What all models share."""

from tests.builders import pod

from ganglift.api.names import GATE
from ganglift.api.pod import Named


def test_copy_with_other_fields_works_its_properties_out_anew() -> None:
    plain = pod("p").made
    assert not plain.has_gate
    gated = plain.spec.model_copy(update={"scheduling_gates": (Named(name=GATE),)})
    assert plain.model_copy(update={"spec": gated}).has_gate


def test_copy_keeps_what_is_not_a_property() -> None:
    assert pod("p").label("a", "b").made.model_copy() == pod("p").label("a", "b").made
