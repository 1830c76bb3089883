"""Which tests run today, of those that are marked ``sampled(n)``: in n days each of them once."""

import zlib


def is_drawn(name: str, n: int, day: int) -> bool:
    return zlib.crc32(name.encode()) % n == day % n
