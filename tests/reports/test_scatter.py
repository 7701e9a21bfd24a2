"""Names of a scatter lie beside their points, and not on each other."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.reports.scatter import Box, place_labels

SERVICES = {
    # Nineteen services of SGD's test set by accuracy and sensitivity, in percent, as a rule system has them.
    "Services_4": (12, 88), "Services_1": (13.7, 80.7), "RentalCars_3": (20.6, 73.4), "Travel_1": (5.2, 68.3),
    "Weather_1": (37.1, 66.5), "Hotels_4": (17.3, 47.8), "Homes_2": (28, 33.6), "Hotels_2": (10, 33.3),
    "Restaurants_2": (9.9, 19.9), "Payment_1": (11.3, 14.6), "Movies_1": (16.2, 8.7), "Events_3": (13.2, 7.8),
    "Trains_1": (8.7, 6.2), "Music_3": (23.8, 5.4), "Buses_3": (6.6, 4.9), "RideSharing_2": (13.2, 3.5),
    "Flights_4": (4.8, 0), "Messaging_1": (5.7, 0), "Media_3": (14.7, 0),
}  # fmt: skip
WIDTH, HEIGHT = 640, 340


def point(x: float, y: float) -> Box:
    return Box(x - 4, y - 4, x + 4, y + 4)


def test_nineteen_services_can_be_read() -> None:
    points = [(12 * x, 310 - 3.3 * y, name) for name, (x, y) in SERVICES.items()]
    boxes = place_labels(points, WIDTH, HEIGHT)
    assert not any(one.overlaps(two) for one, two in combinations(boxes, 2))
    assert not any(box.overlaps(point(x, y)) for box in boxes for x, y, _ in points)
    assert all(box.left >= 0 and box.right <= WIDTH and box.top >= 0 and box.bottom <= HEIGHT for box in boxes)


PLACES = st.tuples(st.floats(0, WIDTH), st.floats(0, HEIGHT), st.text("abc", min_size=1, max_size=200))


@given(st.lists(PLACES, max_size=8))
def test_every_name_has_a_place_of_its_size_near_its_point(points: list[tuple[float, float, str]]) -> None:
    """Also where there is no room for all of them, or for one."""
    boxes = place_labels(points, WIDTH, HEIGHT)
    assert len(boxes) == len(points)
    for (x, y, name), box in zip(points, boxes, strict=True):
        assert box.right - box.left == pytest.approx(6 * len(name))
        across, down = box.nearest_to(x, y)
        assert abs(across - x) <= 81 + 3 * len(name) and abs(down - y) <= 88


@given(PLACES)
def test_a_name_alone_lies_right_beside_its_point(place: tuple[float, float, str]) -> None:
    x, y, name = place
    [box] = place_labels([(x, y, name[:20])], WIDTH, HEIGHT)
    assert not box.overlaps(point(x, y))
    assert box.left >= 0 and box.right <= WIDTH and box.top >= 0 and box.bottom <= HEIGHT
