"""Version 1 on public data: as good as the measured smoothed ratio, within a point (``tests.grading.truth``)."""

from pathlib import Path

import pytest

from tests.grading.truth import (
    DATA,
    DataSet,
    measure,
    read_books,
    read_carefully,
    read_plainly,
    read_population,
)


@pytest.fixture
def data(shared: Path) -> Path:
    """Give the folder of the data sets, or skip where a clone has none."""
    if not DATA.is_dir():
        pytest.skip("../shared has no truth-spectrum")
    return shared / "vectors" / "truth-spectrum" / "data"


def found(of: DataSet) -> dict[str, float]:
    """Give the precisions, rounded to a tenth of a point."""
    return {method: round(precision, 3) for method, precision in measure(of).items()}


@pytest.mark.requirement("G14")
def test_population(data: Path) -> None:
    """49,955 claims of 4,264 sources; .814 is what the ratio reaches elsewhere."""
    population = read_population(data / "population")
    assert (len(population.claims), len(population.truth)) == (49_955, 301)
    assert found(population) == {"majority": 0.781, "v1": 0.814, "v2": 0.837}


@pytest.mark.requirement("G14")
def test_books(data: Path) -> None:
    """24,294 claims; .52 against the golden list and .675 against the silver one are reached elsewhere."""
    golden, silver = read_books(data / "book", read_plainly)
    assert (len(golden.claims), len(golden.truth), len(silver.truth)) == (24_294, 100, 154)
    assert found(golden) == {"majority": 0.52, "v1": 0.52, "v2": 0.53}
    assert found(silver) == {"majority": 0.695, "v1": 0.682, "v2": 0.682}


@pytest.mark.parametrize(
    ("text", "plain", "careful"),
    [
        ("Knuth, Donald E.", {"knuth"}, {"knuth"}),
        ("Donald E. Knuth", {"knuth"}, {"knuth"}),
        ("Hopcroft, John; Ullman, Jeffrey", {"hopcroft", "ullman"}, {"hopcroft", "ullman"}),
        ("Pei Zheng, Lionel Ni", {"peizheng"}, {"zheng", "ni"}),
        ("Farmer, Dan, Venema, Wietse", {"farmer"}, {"farmer", "venema"}),
        ("Weafer, Vincent Conry-Murray, Andrew", {"weafer"}, {"weafer", "conrymurray"}),
        ("Carroll, John M. (Edt)", {"carroll"}, {"carroll"}),
        ("", set(), set()),
    ],
)
def test_names_are_read_in_two_ways(text: str, plain: set[str], careful: set[str]) -> None:
    """Plainly, as for the figures from elsewhere, and carefully."""
    assert read_plainly(text) == plain
    assert read_carefully(text) == careful
