#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every relative link of every page names a file, and every anchor a heading of it.

    links.py ROOT

It also checks the pages that messages in C name, which are installed with the command.

Exit status: 0 all do, 1 some do not; each of those is printed with its line.
"""
import pathlib
import re
import sys
import urllib.parse

LEFT_OUT = re.compile(r"(build|\.)[^/]*/|subprojects/|(.*/)?node_modules/")
LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\s*\[[^\]]+\]:\s*(\S+)",
                  re.MULTILINE)
HTML = re.compile(r"<(?:a|img)\b[^>]*?\b(?:href|src)=\"([^\"]+)\"")
FENCE = re.compile(r"^ {0,3}(```|~~~).*?^ {0,3}\1[ \t]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)\1(?!`)", re.DOTALL)


def blanked(match):
    """As many characters, so that lines keep their numbers."""
    return re.sub(r"[^\n]", " ", match.group())


def anchors(text):
    """The anchors of a page, as GitHub makes them of headings, and those of HTML."""
    found = set(re.findall(r"<[a-z]+\b[^>]*\b(?:id|name)=\"([^\"]+)\"", text))
    seen = {}
    for heading in re.findall(r"^#{1,6}[ \t]+(.+?)[ \t]*#*$", FENCE.sub(blanked, text), re.MULTILINE):
        heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
        slug = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
        count = seen[slug] = seen.get(slug, -1) + 1
        found.add(f"{slug}-{count}" if count else slug)
    return found


def fault_of(page, link):
    """What is wrong with a link; None: nothing, or it is not relative."""
    parts = urllib.parse.urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = (page.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else page
    if not target.exists():
        return "there is no such file"
    if parts.fragment and target.suffix == ".md":
        if urllib.parse.unquote(parts.fragment) not in anchors(target.read_text(encoding="utf-8")):
            return f"{target.name} has no such heading"
    return None


def faults_of_messages(root):
    """Missing pages that messages of the library or the command name."""
    named = {}
    for source in sorted([*root.glob("lib/**/*.c"), *root.glob("cli/*.c")]):
        for string in re.findall(r'"(?:[^"\\\n]|\\.)*"', source.read_text(encoding="utf-8")):
            for page in re.findall(r"\bdocs/[\w/-]+\.md\b", string):
                named[page] = source.relative_to(root)
    return len(named), [f"{source}: {page}: there is no such file"
                        for page, source in named.items() if not (root / page).exists()]


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    checked = faults = 0
    for page in sorted(root.rglob("*.md")):
        name = page.relative_to(root).as_posix()
        if LEFT_OUT.match(name):
            continue
        text = CODE.sub(blanked, FENCE.sub(blanked, page.read_text(encoding="utf-8")))
        for match in [*LINK.finditer(text), *HTML.finditer(text)]:
            link = next(group for group in match.groups() if group)
            fault = fault_of(page, link)
            checked += 1
            if fault:
                faults += 1
                print(f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {link}: {fault}")
    named, missing = faults_of_messages(root)
    print("".join(f"{fault}\n" for fault in missing), end="")
    faults += len(missing)
    if checked == 0 or named == 0:
        print(f"{root}: no page has a link, or no message names a page")
    sys.exit(1 if faults or checked == 0 or named == 0 else 0)


if __name__ == "__main__":
    main()
