# SPDX-License-Identifier: Apache-2.0
"""Messages of the library in the words of Python: keywords in place of options."""

from __future__ import annotations

import re
from typing import Any, Mapping

# Options that are no identifiers in Python, by the keywords that stand for them.
_KEYWORDS = {"from": "launch"}


def _keyword(option: str) -> str:
    return _KEYWORDS.get(option, option).replace("-", "_")


def _values_of(members: Mapping[str, Any], name: str) -> Any:
    """The names that an option accepts, by the schema of its command."""
    member = members.get(name, {})
    member = members.get(member.get("$ref", "").rsplit("/", 1)[-1], member)
    return member.get("enum") or member.get("items", {}).get("enum") or []


def in_words_of_python(command: str, message: str, members: Mapping[str, Any]) -> str:
    """`message` of a command whose options have the schemas `members`."""

    def name_option(found: "re.Match[str]") -> str:
        name, value = _keyword(found[1]), found[3]
        if value is None:
            return name
        if value.isdigit():
            return f"{name}={value}"
        return f'{name}="{value}"' if value in _values_of(members, name) else f"{name} {value}"

    message = re.sub(r"unknown option --?", f"{command}() has no keyword ", message)
    message = re.sub(r"'reckon (\w+) --help' lists the options", r'reckon.schema("\1") lists them', message)
    message = re.sub(r"'reckon list ([\w-]+)'", r'reckon.catalogue("\1")', message)
    message = re.sub(r"'reckon (\w+) ([\w.-]+) ([\w.-]+)'", r'reckon.\1("\2", "\3")', message)
    message = re.sub(r"'reckon (\w+)'", r"reckon.\1()", message)
    return re.sub(r"(?<![\w-])--([a-z][a-z0-9-]*)( ([\w-]+))?", name_option, message)
