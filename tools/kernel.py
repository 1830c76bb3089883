"""Assembles the kernel of the ViTs in a page, vitworkshop/web/panels.wat, into the script that runs it.

    python -m tools.kernel

Needs an assembler: pip install wasmtime.
"""

from __future__ import annotations

import base64
import re

from vitworkshop.web.export import SCRIPTS


def main() -> None:
    """Writes the bytes, in base64, where the script has them."""
    from wasmtime import wat2wasm

    made = wat2wasm((SCRIPTS / "panels.wat").read_text(encoding="utf-8"))
    # the last section has the names in it, which only debuggers read
    code = base64.b64encode(made[: made.index(b"\x04name") - 3]).decode()
    script = SCRIPTS / "kernel.js"
    text = re.sub(
        r'(const WASM = )".*?"', rf'\1"{code}"', script.read_text(encoding="utf-8")
    )
    script.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
