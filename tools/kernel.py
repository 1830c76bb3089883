"""Assembles the kernels of the ViTs in a page, vitworkshop/web/*.wat, into the scripts that run them.

    python -m tools.kernel

Needs an assembler: pip install wasmtime.
"""

from __future__ import annotations

import base64
import re

from vitworkshop.web.export import SCRIPTS

KERNELS = {"linear.wat": "learn-kernel.js", "panels.wat": "kernel.js"}


def main() -> None:
    """Writes the bytes, in base64, where each script has them."""
    from wasmtime import wat2wasm

    for source, name in KERNELS.items():
        code = base64.b64encode(wat2wasm((SCRIPTS / source).read_text(encoding="utf-8"))).decode()
        script = SCRIPTS / name
        text = re.sub(r'(const WASM = )".*?"', rf'\1"{code}"', script.read_text(encoding="utf-8"))
        script.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
