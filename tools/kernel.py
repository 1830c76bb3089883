"""Assembles the kernel of the ViT that learns, vitworkshop/web/linear.wat, into learn-kernel.js.

    python -m tools.kernel

Needs an assembler: pip install wasmtime.
"""

from __future__ import annotations

import base64
import re

from vitworkshop.web.export import SCRIPTS

SOURCE, SCRIPT = SCRIPTS / "linear.wat", SCRIPTS / "learn-kernel.js"


def main() -> None:
    """Writes the bytes, in base64, where the script has them."""
    from wasmtime import wat2wasm

    code = base64.b64encode(wat2wasm(SOURCE.read_text(encoding="utf-8"))).decode()
    text = re.sub(r'(const WASM = )".*?"', rf'\1"{code}"', SCRIPT.read_text(encoding="utf-8"))
    SCRIPT.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
