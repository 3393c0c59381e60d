#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every option of every command, every other name and every choice of it is in a question.

    coverage.py BUILD [QUESTIONS.TXT]
"""

import collections
import pathlib
import sys

from interface import choices_of, read_forms, used_by
from record import HERE, read_questions


def main():
    forms = read_forms(sys.argv[1])
    questions = read_questions(pathlib.Path(sys.argv[2]) if len(sys.argv) > 2
                               else HERE / "questions.txt")
    options, names, values = collections.Counter(), collections.Counter(), set()
    for kind, rest in questions.values():
        uses = set(used_by(forms, kind, rest))
        options.update((form, option) for form, option, *_ in uses)
        names.update((form, name) for form, _, name, _ in uses)
        values.update((option, part.replace("_", "-")) for _, option, _, value in uses
                      for part in value.split(","))
    missing, count = [], 0
    for form in forms.values():
        for option, spellings in form.spellings.items():
            count += 1
            if options[form.name, option] < 1:
                missing.append(f"{form.name}: no question uses --{spellings[0]}")
            missing += [f"{form.name}: no question uses --{name}" for name in spellings[1:]
                        if not names[form.name, name]]
            missing += [f"{form.name}: no question uses --{spellings[0]} {choice}"
                        for choice in choices_of(form.options[option])
                        if (option, choice) not in values]
    print("\n".join(missing))
    if missing:
        print("Add questions that use them at the end of tests/record/questions.txt, and record "
              "their answers: tests/record/README.md")
    rare = sorted(f"{form} {option}" for (form, option), n in options.items() if n < 5)
    print(f"{count} options, {sum(options.values())} uses; fewer than 5: {', '.join(rare) or 'none'}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
