#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds habits of wording that no reader of the field would use, and says what to write.
Finds C files that do not begin with a comment on their subject.

    check.py ROOT
"""
import pathlib
import re
import sys

# What not to write, and what to write.
HABITS = [
    (r"\bunless given\b", 'default: ...'),
    (r"\bmade again\b|\bmakes again\b", "recomputed, recomputes"),
    (r"\bwhose rules\b", "whose constraints apply, by the rules of"),
    (r"\bas it goes by\b", "timeline of one step"),
    (r"\btold apart\b|\btells apart\b", "distinguished, reported separately"),
    (r"\b(is|are|was|were) told\b", "is reported, is known"),
    (r"\btold worse\b", "where the error is larger"),
    (r"\b(gradients?|backward) by weights?\b", "weight gradients"),
    (r"\bby the count of\b", "FLOP convention: ..."),
    (r"\bin the place of\b", "in place of"),
    (r"\bin which they are summed\b", "data type of gradient accumulation"),
    (r"\bchunks of layers a pipeline rank\b", "virtual pipeline stages per rank"),
    (r"\bplanning again\b", "sensitivity analysis"),
    (r"\bas nccl-tests tell\b", "in nccl-tests format"),
    (r"\bthere is not enough memory\b", "not enough memory"),
    (r"\bgets? ahead\b", "advances"),
    (r"\blaid over\b", "laid out on"),
    (r"(?<!here\s)\b(is|are) no (multiple|part|number|text|list|array|option|folder|product)\b",
     "is not a ..."),
    (r"\bto be freed (with|by)\b", "free it with ..."),
    (r"\blives? longer\b|\bto live longer\b", "outlives"),
    (r"\blike the next (two|three|four)\b", "; the next two likewise"),
    (r"\belse the rest is\b", "otherwise the rest is"),
    (r"\bhowever alike\b", "even if nearly alike"),
    (r"\bnow and then\b", "periodically"),
    (r"\bsaid to (not )?fit\b", "predicted to fit"),
    (r"\bhardly ever\b", "rarely"),
    (r"\bof one's own\b", "of your own"),
]
ENDINGS = {".c", ".h", ".md", ".py", ".sh", ".scd", ".txt", ".json", ".ipynb", ".golden"}
LEFT_OUT = {"CHANGELOG.md", "tests/language/check.py", "LICENSE"}
FOLDERS_LEFT_OUT = ("build", ".", "data", "studies", "fuzz/seeds", "tests/pages/node_modules")


def report_uncommented(root):
    """Reports C files and headers without a comment in line 2; their number."""
    count = 0
    for path in sorted(path for folder in ("lib", "cli", "include", "tests", "fuzz", "bench")
                       for path in root.glob(f"{folder}/**/*.[ch]")):
        lines = path.read_text(encoding="utf-8").splitlines()
        if len(lines) < 2 or not lines[1].startswith("/*"):
            print(f"{path.relative_to(root).as_posix()}:2: no comment below the SPDX line; write "
                  "one sentence on the subject of the file: /* Strategies that fit. */")
            count += 1
    return count


def main():
    root = pathlib.Path(sys.argv[1])
    found = report_uncommented(root)
    habits = [(re.compile(pattern.replace(" ", r"\s+")), instead) for pattern, instead in HABITS]
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if (path.suffix not in ENDINGS or name in LEFT_OUT or name.startswith(FOLDERS_LEFT_OUT)
                or not path.is_file()):
            continue
        # a phrase may go on in the next line, behind the marks of comments
        text = path.read_text(encoding="utf-8", errors="replace")
        flat = re.sub(r"\n[ \t]*(?:\*|//|#|\"|>)?[ \t]*", lambda m: " " * len(m.group()), text)
        for pattern, instead in habits:
            for match in pattern.finditer(flat):
                line = text.count("\n", 0, match.start()) + 1
                print(f'{name}:{line}: "{" ".join(match.group().split())}"; write: {instead}')
                found += 1
    print(f"{found} found")
    return 1 if found else 0


sys.exit(main())
