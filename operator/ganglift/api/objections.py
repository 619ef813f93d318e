"""What pydantic objects to, in the words of Kubernetes: fields as paths, and what is wrong with each."""

from collections.abc import Iterator, Sequence

from pydantic import ValidationError

Objection = tuple[str, str]
"""A field such as `spec.containers[0].name`, empty for the whole, and what is wrong with it."""

_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "there is no such field",
    "string_type": "is not a text",
    "int_type": "is not a whole number",
    "int_parsing": "is not a whole number",
    "int_from_float": "is not a whole number",
    "bool_type": "is not true or false",
    "bool_parsing": "is not true or false",
    "tuple_type": "is not a list",
    "dict_type": "is not an object",
    "model_type": "is not an object",
}
_UNION_MEMBERS = ("str", "int", "float", "function-wrap")


def objections(error: ValidationError) -> Iterator[Objection]:
    """Yield what is objected to, one objection for each field."""
    seen = set()
    for each in error.errors(include_url=False, include_context=False, include_input=False):
        field = path_of(each["loc"])
        if field not in seen:
            seen.add(field)
            yield field, _WORDS.get(each["type"]) or _lower_first(each["msg"])


def path_of(steps: Sequence[str | int]) -> str:
    """Return a path as Kubernetes writes it: `spec.containers[0].name`."""
    trimmed = list(steps)
    while trimmed and trimmed[-1] in _UNION_MEMBERS:
        trimmed.pop()
    text = ""
    for step in trimmed:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
