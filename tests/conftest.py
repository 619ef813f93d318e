"""What all test suites share: how large they run."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run each proof at its full size")


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether proofs run at their full size."""
    return bool(request.config.getoption("--full"))
