#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Documents that messages, help texts and manual pages name are installed.

    documents.py ROOT

`docs` is installed but for docs/api and docs/howto; nothing else of the source tree is.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
PATH = re.compile(r"\b(?:docs|data|examples|studies|tests|tools|bench)/[\w./-]*\w\.(?:md|json|csv|sh|py|c|ipynb)\b")


def texts():
    """Files with what a person may read of them: strings of C, pages of the manual."""
    for folder in ("lib", "cli"):
        for path in sorted((ROOT / folder).rglob("*.c")):
            code = "\n".join(line for line in path.read_text(encoding="utf-8").splitlines()
                             if not line.startswith("#include"))
            code = re.sub(r"/\*.*?\*/", "", code, flags=re.DOTALL)
            yield path, "\n".join(re.findall(r'"(?:[^"\\\n]|\\.)*"', code))
    for path in sorted((ROOT / "man").glob("*.scd")):
        yield path, path.read_text(encoding="utf-8")


def main():
    faults, named = [], 0
    for path, text in texts():
        for document in PATH.findall(text):
            named += 1
            there = document.startswith("docs/") and not document.startswith(("docs/api/", "docs/howto/"))
            if not there or not (ROOT / document).is_file():
                faults.append(f"{path.relative_to(ROOT)} names {document}, which is not installed")
    print("\n".join(faults) or f"{named} documents")
    return bool(faults) or named == 0


sys.exit(main())
