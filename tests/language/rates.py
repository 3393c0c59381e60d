#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Habits of wording that are fine once and tiring in every sentence: no more often than in comments
of zstd, curl, hwloc and jq. Counts them over comments and over documents.

    rates.py ROOT

A figure above its limit fails, and the files with most of the habit are listed.
"""
import collections
import pathlib
import re
import sys

# Habit, pattern, most per 1,000 words.
HABITS = [
    ("What ... (sentence)", r"(?:^|[.!?:;]\s+)What\b", 0.3),
    ("that of, those of", r"\b(?:that|those) of\b", 0.3),
    ("of them, it, these", r"\bof (?:them|it|these)\b", 0.5),
    ("takes", r"\btakes\b", 0.6),
    ("beside, besides", r"\bbesides?\b", 0.3),
    ("stand, stands", r"\bstands?\b", 0.3),
    ("where there, it, that", r"\bwhere (?:there|it|that)\b", 0.3),
    ("asks", r"\basks\b", 0.3),
    ("whatever, whoever", r"\b(?:whatever|whoever)\b", 0.3),
    ("likewise", r"\blikewise\b", 0.3),
]
COMMENTS = ("lib/**/*.[ch]", "cli/**/*.[ch]", "include/**/*.h")
DOCUMENTS = ("docs/**/*.md", "README.md", "man/*.scd")


def comments_of(code):
    """The comments of a C file, one a text, less the marks that begin their lines."""
    comments = (re.sub(r"\s*\n\s*\*?\s*", " ", comment.strip("/* \n"))
                for comment in re.findall(r"/\*.*?\*/", code, re.S))
    return [comment for comment in comments if not comment.startswith("SPDX")]


def count(root, globs, texts_of):
    """Words, and occurrences of each habit by file."""
    words = 0
    found = {name: collections.Counter() for name, _, _ in HABITS}
    for path in sorted(path for pattern in globs for path in root.glob(pattern)):
        for text in texts_of(path.read_text(encoding="utf-8")):
            words += len(re.findall(r"[A-Za-z][A-Za-z'-]*", text))
            for name, pattern, _ in HABITS:
                found[name][path.relative_to(root)] += len(re.findall(pattern, text))
    return words, found


def main():
    root = pathlib.Path(sys.argv[1])
    above = 0
    for title, globs, texts_of in (("comments", COMMENTS, comments_of),
                                   ("documents", DOCUMENTS, lambda text: [text])):
        words, found = count(root, globs, texts_of)
        if words == 0:
            sys.exit(f"{root}: no {title}")
        print(f"{title}: {words:,} words; per 1,000 words:")
        for name, _, limit in HABITS:
            rate = 1000 * sum(found[name].values()) / words
            print(f"  {name:<24} {rate:5.2f}  (at most {limit})")
            if rate > limit:
                above += 1
                for path, times in found[name].most_common(5):
                    print(f"      {path}: {times}")
    print(f"{above} above their limits")
    return 1 if above else 0


sys.exit(main())
