"""Phone numbers as people and addresses write them, in one form."""

from __future__ import annotations

import re

_SEPARATORS = re.compile(r"[\s().\-/]+")
_NUMBER = re.compile(r"[1-9][0-9]{5,14}")


def normalised(text: str) -> str:
    """`+` and 6 to 15 digits; the plus may be missing, `00`, or a space, as an address bar delivers it.

    Raises ValueError, which does not repeat the text.
    """
    digits = _SEPARATORS.sub("", text)
    digits = digits.removeprefix("+") if digits.startswith("+") else digits.removeprefix("00")
    if not _NUMBER.fullmatch(digits):
        raise ValueError("write the phone number in international form, like +34600000001")
    return f"+{digits}"
