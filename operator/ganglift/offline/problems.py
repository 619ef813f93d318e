"""What is wrong with the input. Each problem names the file and the field, and says what would be right."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ganglift.base.errors import GangliftError

T = TypeVar("T", bound=BaseModel)

SHOWN = 20
_WORDS = {
    "missing": "is missing",
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
"""What pydantic objects to, in the words of Kubernetes."""
_UNION_MEMBERS = ("str", "int", "float", "function-wrap")


@dataclass(frozen=True, slots=True)
class Place:
    """Where an object stands: a file, and what it is there, such as `Job default/train` or `object 3`."""

    file: str
    what: str = ""

    def __str__(self) -> str:
        return f"{self.file}: {self.what}" if self.what else self.file


@dataclass(frozen=True, slots=True)
class Problem:
    """`field` is a path such as `spec.containers[0].resources`, empty where the whole object is meant."""

    place: Place
    message: str
    field: str = ""

    def __str__(self) -> str:
        return ": ".join(part for part in (str(self.place), self.field, self.message) if part)


class InvalidInput(GangliftError):
    """Input that can't be planned. All problems that were found, the first of them in words."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems[:SHOWN]]
        if (more := len(self.problems) - SHOWN) > 0:
            lines.append(f"and {more} more like these")
        super().__init__("\n".join(lines))


def invalid(place: Place, message: str, field: str = "") -> InvalidInput:
    """Return the error for one problem."""
    return InvalidInput((Problem(place, message, field),))


def parsed(model: type[T], data: Mapping[str, Any], place: Place, prefix: str = "") -> T:
    """Return an object as its model; raise InvalidInput with all that is wrong with its fields."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise InvalidInput(problems_of(error, place, prefix)) from error


def problems_of(error: ValidationError, place: Place, prefix: str = "") -> Iterator[Problem]:
    """Yield what pydantic objects to, one problem for each field."""
    seen = set()
    for each in error.errors(include_url=False, include_context=False, include_input=False):
        field = ".".join(filter(None, (prefix, path_of(each["loc"]))))
        if field not in seen:
            seen.add(field)
            yield Problem(place, _WORDS.get(each["type"]) or _lower_first(each["msg"]), field)


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
