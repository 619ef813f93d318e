"""What the measured resource did over time: worked, was wasted, was kept free, or lay idle."""

from typing import NamedTuple


class Level(NamedTuple):
    """Units at one moment.

    `capacity` is what there is. `working` have members of gangs that are whole, `wasted` have members that wait for
    others of their gang or are leaving, `held` are free and kept free for a gang that waits.
    """

    capacity: int = 0
    working: int = 0
    wasted: int = 0
    held: int = 0


class Meter:
    """Adds levels up. `levels` are all there were, each with the second from which it was so."""

    def __init__(self) -> None:
        self.levels: list[tuple[int, Level]] = [(0, Level())]
        self.total = Level()
        """Units times seconds."""
        self.lost = 0
        """Work that has to be done again, in units times seconds."""
        self._second = 0

    def pass_time(self, second: int) -> None:
        """Let the present level last until this second."""
        lasted = second - self._second
        self.total = Level(*(sum_ + units * lasted for sum_, units in zip(self.total, self.levels[-1][1], strict=True)))
        self._second = second

    def see(self, level: Level) -> None:
        """Take the level from now on."""
        if self.levels[-1][0] == self._second:
            self.levels[-1] = (self._second, level)
        elif self.levels[-1][1] != level:
            self.levels.append((self._second, level))
