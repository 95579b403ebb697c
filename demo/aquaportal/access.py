"""Who may see which center and cage; a refusal is a sentence that the caller can be told."""

from demo.aquaportal.data.farm import CENTERS
from demo.aquaportal.data.records import Caller


class Refusal(Exception):
    """The question cannot be answered to this caller; the text says why, in plain words."""


def check_center(caller: Caller, center: str) -> None:
    """Refuse a center that is not assigned to the caller."""
    if center not in caller.centers:
        raise Refusal(f"You have no access to the {center}, because it is not assigned to you.")


def check_cage(caller: Caller, cage_number: int, center: str | None = None) -> None:
    """Refuse a cage of a center that is not the caller's, or that is not in the center they named."""
    if center_of(cage_number) not in caller.centers:
        raise Refusal(f"You have no access to cage {cage_number}, because its center is not assigned to you.")
    if center is not None and center_of(cage_number) != center:
        raise Refusal(f"Cage {cage_number} is not in the {center}; it is in the {center_of(cage_number)}.")


def center_of(cage_number: int) -> str:
    """The name of the center that a cage is in."""
    return next(center.name for center in CENTERS if cage_number in center.cages)


def cages_of(caller: Caller, center: str | None = None) -> tuple[int, ...]:
    """The numbers of the cages that the caller may see, all or those of one center."""
    names = caller.centers if center is None else (center,)
    return tuple(cage for each in CENTERS if each.name in names for cage in each.cages)
