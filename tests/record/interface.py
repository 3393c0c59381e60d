# SPDX-License-Identifier: Apache-2.0
"""The options of every command, from the program, and which of them a question uses."""

import json
import os
import re
import shlex
import subprocess
import sys
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMANDS = ("plan", "estimate", "fit", "run", "comm", "explain", "design", "shape", "sweep",
            "timeline", "plot", "validate", "calibrate", "list", "show", "calculon")
CALCULON = ("plan", "explain", "design", "shape")  # have a form that follows Calculon


def choices_of(about):
    """The choices of an option, by its schema, in one spelling each."""
    choices = about.get("enum") or about.get("items", {}).get("enum") or []
    return list(dict.fromkeys(choice.replace("_", "-") for choice in choices if choice))


class Form:
    """A command, or its form that follows Calculon: options with type, spellings and letter."""

    def __init__(self, name, schema, help_text):
        self.name = name
        self.options, self.spellings, self.letters = {}, {}, {}
        for key, about in schema["properties"].items():
            if "$ref" not in about:
                self.options[key] = about
                self.spellings.setdefault(key, [key.replace("_", "-")])
        for key, about in schema["properties"].items():
            option = about.get("$ref", "").rsplit("/", 1)[-1]
            if option and "_" not in key and key not in self.spellings[option]:
                self.spellings[option].append(key)
        for letter, name_of in re.findall(r"^ +-(\w), --([\w-]+)", help_text, re.M):
            self.letters[name_of.replace("-", "_")] = letter

    def option_of(self, word):
        """The option that a word of a command line or a member of a request stands for."""
        if re.fullmatch(r"-\w", word):
            return next((o for o, l in self.letters.items() if l == word[1]), None)
        word = word.lstrip("-").split("=")[0]
        for option, names in self.spellings.items():
            if word in names or word.replace("_", "-") in names:
                return option
        return None


class Forms(dict):
    """Name -> Form; "plan.calculon" is the form of `plan` that follows Calculon."""
    calculon_names = frozenset()  # of documents, which choose that form


def read_forms(build):
    """The Forms of the program in a build folder."""
    os.environ["RECKON_LIBRARY"] = str(pathlib.Path(build, "lib", "libreckon.so.1").resolve())
    sys.path.insert(0, str(ROOT / "python"))
    import reckon  # pylint: disable=import-outside-toplevel
    forms = Forms()
    for name, method in [(c, None) for c in COMMANDS] + [(c, "calculon") for c in CALCULON]:
        words = [pathlib.Path(build, "reckon"), name, *(["--method", method] if method else []),
                 "--help-all"]
        text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        full = f"{name}.{method}" if method else name
        forms[full] = Form(full, reckon.schema(name, method), text)
    forms.calculon_names = {*reckon.catalogue("calculon/systems"),
                            *reckon.catalogue("calculon/applications")}
    return forms


def used_by(forms, kind, rest):
    """(form, option, spelling, value) of a question's options; positional words count too."""
    if kind in ("c", "edit") or not rest.split():
        return []
    values = {}
    if kind == "cli":
        command, *words = shlex.split(rest)
        for word, after in zip(words, [*words[1:], ""]):
            values[word] = word.partition("=")[2] or after
    else:
        command, request = rest.split(" ", 1)
        try:
            asked = json.loads(request)
        except ValueError:
            return []
        asked = asked if isinstance(asked, dict) else {}
        words = [f"--{key}" for key in asked] + [v for v in asked.values() if isinstance(v, str)]
        values = {f"--{key}": ",".join(map(str, value)) if isinstance(value, list) else str(value)
                  for key, value in asked.items()}
    if command not in COMMANDS:
        return []
    calculon = command in CALCULON and (
        "calculon" in words or "--method=calculon" in words
        or forms.calculon_names & {word.split("=")[-1] for word in words})
    form = forms[command + (".calculon" if calculon else "")]
    uses = [(form.name, form.option_of(word), word.lstrip("-").split("=")[0].replace("_", "-"),
             values[word])
            for word in words if word.startswith("-") and form.option_of(word)]
    if kind == "cli" and any(not word.startswith("-") for word in words):
        uses += [(form.name, option, option, words[0]) for option in
                 ("collective", "grid", "document", "recipe", "what", "name", "command", "results")
                 if option in form.options]
    return uses
