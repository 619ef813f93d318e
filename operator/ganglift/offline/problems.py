"""What is wrong with the input. Each problem names the file and the field, and says what would be right."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ganglift.api.objections import objections
from ganglift.base.errors import GangliftError

T = TypeVar("T", bound=BaseModel)

SHOWN = 20


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
    for field, words in objections(error):
        yield Problem(place, words, ".".join(filter(None, (prefix, field))))
