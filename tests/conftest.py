"""What all test suites share: how large they run, and that the same code gets the same answer.

Made-up examples are the same in each run, so a failure is of the change at hand; `--full` looks for new ones.
"""

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("new", deadline=None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run each proof at its full size")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("new" if config.getoption("--full") else "same")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked `full`, unless the run is one."""
    if config.getoption("--full"):
        return
    left_out = [item for item in items if item.get_closest_marker("full")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether proofs run at their full size."""
    return bool(request.config.getoption("--full"))
