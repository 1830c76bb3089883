"""How annotations are enforced: by beartype, where an int may stand for a float, as PEP 484 has it."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
