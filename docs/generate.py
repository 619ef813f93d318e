"""Writes what the documentation repeats of the code, so that it can't be behind.

docs/reference.md is made whole, from the CRDs, their list of differences, the settings and the metrics; the end of
docs/troubleshooting.md from the reasons. Run `python docs/generate.py` after a change of these; a test fails until
then.
"""

import json
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from ganglift.app.metrics import FAMILIES
from ganglift.base.settings import Settings
from ganglift.gang.reasons import Reason

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference.md"
TROUBLESHOOTING = ROOT / "docs" / "troubleshooting.md"
CRDS = ("batch.ganglift.dev_jobs", "scheduling.ganglift.dev_workloads", "scheduling.ganglift.dev_podgroups")

Schema = dict[str, Any]

INTRODUCTION = """\
<!-- Made by docs/generate.py. Do not edit. -->
# Reference

`kubectl explain` has the same texts: `kubectl explain gjob.spec.scheduling`, `gwl` for Workload, `gpg` for PodGroup.
In paths, `[]` stands for the items of a list and `{}` for the values of a map.
"""

SETTINGS = """\
## Settings

`ganglift run` reads a YAML file (`--config`), then the environment, then its flags; the later wins. The chart writes
the file from its value `settings`, and sets `namespace`, `httpPort` and `leaderElect` itself. Durations are written
like `90s`, `5m` or `1h30m`.

"""

METRICS = """\
## Metrics

What `/metrics` shows. Those that only the leader has are missing on replicas that stand by, so a sum over all replicas
counts nothing twice. Counters start with the process. The figures of the process itself (`process_cpu_seconds_total`,
`process_resident_memory_bytes` and the like) are there too.

"""

DIFFERENCES = """\
## Differences from Kubernetes 1.37

Workload and PodGroup have the shape of `scheduling.k8s.io/v1beta1`, and Job that of `batch/v1`, in Kubernetes 1.37 with
its alpha gang scheduling turned on. These are all the differences.

"""


_REASONS_FOLLOW = "<!-- What follows is made by docs/generate.py from operator/ganglift/gang/reasons.py. -->\n"


def pages() -> dict[Path, str]:
    """Return each page that is made, whole or in part, with the text that it should have."""
    written, marker, _ = TROUBLESHOOTING.read_text().partition(_REASONS_FOLLOW)
    return {REFERENCE: reference(), TROUBLESHOOTING: written + marker + reasons()}


def reasons() -> str:
    """Return a section for each reason."""
    return "".join(
        f"\n### {reason.value}\n\n{_wrapped(reason.text)}\n\n"
        f"Events with it are of type {'Warning' if reason.is_warning else 'Normal'}.\n"
        for reason in Reason
    )


def reference() -> str:
    """Return the text of the reference."""
    crds = [yaml.safe_load((ROOT / "crds" / f"{name}.yaml").read_text()) for name in CRDS]
    parts = [INTRODUCTION, *(_kind(crd) for crd in crds), _differences(), SETTINGS + _settings(), METRICS + _metrics()]
    return "\n".join(parts)


def _kind(crd: Schema) -> str:
    names, (version,) = crd["spec"]["names"], crd["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    lines = [
        f"## {names['kind']}",
        "",
        f"`{crd['spec']['group']}/{version['name']}`, short name `{names['shortNames'][0]}`. {schema['description']}",
        "",
    ]
    for part in ("spec", "status"):
        part_schema = schema["properties"][part]
        lines += [f"### {names['kind']} {part}", "", part_schema["description"], ""]
        rows = [[f"`{path}`", _type(field), _meaning(field)] for path, field in _fields(part_schema)]
        lines += [_table(["Field", "Type", "Meaning"], rows), ""]
    lines += [f"### {names['kind']} in `kubectl get`", "", _table(["Column", "Shown", "Meaning"], _columns(version))]
    return "\n".join(lines) + "\n"


def _fields(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every field below `schema`, outer before inner, in the order of the schema."""
    for name, field in schema.get("properties", {}).items():
        yield path + name, field
        yield from _fields(field, f"{path}{name}.")
        if "items" in field:
            yield from _fields(field["items"], f"{path}{name}[].")
        if isinstance(field.get("additionalProperties"), dict):
            yield from _fields(field["additionalProperties"], f"{path}{name}{{}}.")


def _type(field: Schema) -> str:
    if field.get("x-kubernetes-int-or-string"):
        return "integer or string"
    if field["type"] == "array":
        return f"list of {_type(field['items'])}"
    if isinstance(field.get("additionalProperties"), dict):
        return f"map of {_type(field['additionalProperties'])}"
    return "time" if field.get("format") == "date-time" else str(field["type"])


def _meaning(field: Schema) -> str:
    words = [" ".join(field.get("description", "").split())]
    if "enum" in field:
        words.append("One of " + ", ".join(f"`{value}`" for value in field["enum"]) + ".")
    if "default" in field:
        words.append(f"Default `{_literal(field['default'])}`.")
    return " ".join(words)


def _columns(version: Schema) -> list[list[str]]:
    return [
        [
            column["name"].upper(),
            "with `-o wide`" if column.get("priority") else "always",
            column.get("description", f"`{column['jsonPath']}`"),
        ]
        for column in version["additionalPrinterColumns"]
    ]


def _differences() -> str:
    listed = tomllib.loads((ROOT / "crds" / "upstream-differences.toml").read_text())
    added = [[entry["kind"], f"`{entry['path']}`", entry["reason"]] for entry in listed["added"]]
    left_out = [[entry["kind"], f"`{entry['path']}`", entry["reason"]] for entry in listed["left-out"]]
    changed = [
        [entry["kind"], f"`{entry['path']}`", entry["upstream"], entry["ours"], entry["reason"]]
        for entry in listed["changed"]
    ]
    tables = [
        "### Fields that upstream lacks\n\nAll are optional.\n",
        _table(["Kind", "Field", "Why"], added),
        "\n### Fields that are left out\n\nThey are refused, not dropped silently.\n",
        _table(["Kind", "Field", "Why"], left_out),
        "\n### Fields that are read or limited otherwise\n",
        _table(["Kind", "Field", "Upstream", "Here", "Why"], changed),
    ]
    return DIFFERENCES + "\n".join(tables) + "\n"


def _settings() -> str:
    rows = [
        [f"`{field.alias}`", f"`GANGLIFT_{name.upper()}`", f"`{_setting_default(name)}`", str(field.description)]
        for name, field in Settings.model_fields.items()
    ]
    return _table(["Setting", "Environment", "Default", "Meaning"], rows) + "\n"


def _metrics() -> str:
    rows = [
        [
            f"`{family.name}`",
            family.type,
            ", ".join(f"`{label}`" for label in family.labels) or "none",
            f"{family.meaning} Only the leader has it." if family.is_leaders else family.meaning,
        ]
        for family in FAMILIES
    ]
    return _table(["Metric", "Type", "Labels", "Meaning"], rows) + "\n"


def _setting_default(name: str) -> str:
    """Return the default as one would write it. Durations are kept as floats, and so is one rate."""
    default = getattr(Settings(), name)
    return f"{default:g}s" if isinstance(default, float) and name != "qps" else _literal(default)


def _literal(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, width=120, break_long_words=False, break_on_hyphens=False)


def _table(headings: list[str], rows: list[list[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text)
