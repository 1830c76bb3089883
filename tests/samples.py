"""Which tests run today, of those that are marked ``sampled(n)``: in n days each of them once."""

import zlib


def drawing(item) -> tuple[str, int] | None:
    """The name by which a test is drawn, and one in how many days; None for a test that runs each day.

    A test of its own n that is asked of a sampled page is drawn by the page's name and the larger n: if that is a
    multiple of the page's, it runs on days on which the page is opened anyway.
    """
    own = [mark for mark in item.own_markers if mark.name == "sampled"]
    marks = own or [item.get_closest_marker("sampled")]
    if marks == [None]:
        return None
    found = sorted((mark.args for mark in marks), key=lambda args: args[0])
    names = [name for _, *named in found for name in named]
    return [item.nodeid, *names][-1], found[-1][0]


def is_drawn(name: str, n: int, day: int) -> bool:
    return zlib.crc32(name.encode()) % n == day % n
