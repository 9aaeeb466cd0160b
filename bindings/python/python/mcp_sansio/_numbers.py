"""Integers of any size, which Python itself reads and writes in decimal only as far as its limit goes.

What is long is cut in halves, so that the work grows more slowly than the square of the length. It grows faster than
the length all the same, so that what a peer can make this side read is bounded.
"""

from __future__ import annotations

from ._errors import LimitExceededError

# The least limit that can be set (`sys.set_int_max_str_digits`) is 640 digits.
_AT_ONCE = 600
#: The most digits of an integer that is read.
MOST_DIGITS = 20_000


def digits(number: int) -> str:
    """The decimal digits of a number, of a subclass too: whatever that makes of itself, it is a number."""
    number = int.__pos__(number)
    if number < 0:
        return "-" + digits(-number)
    length = number.bit_length() * 30103 // 100000 + 1
    if length <= _AT_ONCE:
        return str(number)
    high, low = divmod(number, 10 ** (length // 2))
    return digits(high) + digits(low).zfill(length // 2)


def number(text: str) -> int:
    """The number that decimal digits stand for, with a minus before them or without."""
    if text.startswith("-"):
        return -number(text[1:])
    if len(text) > MOST_DIGITS:
        error = LimitExceededError(-32603, f"an integer has more than {MOST_DIGITS} digits: read it from `raw`")
        error.bound, error.limit = "integer_digits", MOST_DIGITS
        raise error
    if len(text) <= _AT_ONCE:
        return int(text)
    half = len(text) // 2
    return number(text[:-half]) * 10**half + number(text[-half:])
