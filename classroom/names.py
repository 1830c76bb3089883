"""What something handed in is called: shown so that a person can tell any two names apart, and matched by one rule."""

import hashlib
import re
import unicodedata
from functools import partial

# what prints nothing, though Python calls it printable; and "{", which begins what is written in its place
BLANK = "\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180d\\u2800\\u3164\\ufe00-\\ufe0f\\uffa0"
HIDDEN = re.compile("[{" + BLANK + "]|^ | $|(?<= ) ")
ENDING = re.compile(r"\.(ipynb|zip|py)(\.txt|\.json)?$", re.I)
MOODLE = re.compile(r"_\d+_assignsubmission_\w+$")
bare = partial(ENDING.sub, "")  # a name without the ending of a file


def _short(name: str, digits: int) -> str:
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:digits]


def shown(name: str) -> str:
    """A name in visible letters: others by their number, and a mark where letters are put together otherwise."""
    whole = unicodedata.normalize("NFC", name)
    text = HIDDEN.sub(lambda found: f"{{U+{ord(found[0]):04X}}}", whole)
    text = "".join(c if c.isprintable() else f"{{U+{ord(c):04X}}}" for c in text)
    return text if whole == name else f"{text}{{spelled otherwise {_short(name, 4)}}}"


def slug(key: str) -> str:
    """A name for files that no other key has, on any system."""
    plain = re.sub(r"[^a-z0-9_.-]", "_", key.casefold())[:60].strip(".")
    return plain if plain == key else f"{plain}-{_short(key, 8)}"


def folded(key: str) -> str:
    """A name without case, composition, invisible letters, ending, and what Moodle appends."""
    text = MOODLE.sub("", bare(re.sub("{[^}]*}", "", key)))
    return " ".join(unicodedata.normalize("NFC", text.casefold()).split())


def matched(names: list[str], keys: list[str]) -> dict[str, str]:
    """For each key the name, of those that a person wrote, that means it: to the letter, else but for the ending,
    else `folded`; where two could be meant, none is."""
    found: dict[str, str] = {}
    for same in (str, bare, folded):
        for name in names:
            like = [key for key in keys if same(key) == same(shown(name))]
            rivals = [
                other for other in names if same(shown(other)) == same(shown(name))
            ]
            if len(like) == len(rivals) == 1:
                found[like[0]] = name
    return found
