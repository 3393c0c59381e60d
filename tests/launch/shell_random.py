#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what reckon reads from random shell scripts with what bash makes of them.

Not among the statements: loops that read lines, and variables that a subshell sets, as reckon starts none.

    shell_random.py SHELL_COMMANDS [SCRIPTS [SEED]]

A line of a script is a statement of its own, which starts `python N ...` with what it found out. Skipped without bash.
"""

import json
import os
import pathlib
import random
import shlex
import shutil
import subprocess
import sys
import tempfile

EMULATOR = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))  # of a machine of another kind
LINES = 120
# Started programs become lines of words; NUL ends a word, a newline behind NUL a command.
HEAD = "python() { printf '%s\\0' python \"$@\"; printf '\\n\\0'; }\n"
TEXTS = ["abcabc", "a.b.c", "/data/run-1/model.tar.gz", "Llama-3.1-8B", "x", "", "tp8_pp4", "one two  three", "a*b?c",
         "--flag=7", "0x1F", "12", "-3", "[ab]", "UPPER lower", "a/b/c/", "it's", "a\\b"]
PATTERNS = ["a", "*b", "b*", "?", "*.", ".*", "[a-c]", "[!a-c]*", "*[0-9]", "/*", "*/", "x*", "abc", "[[:digit:]]", "*",
            "\\*", "-*-", "[a-]", "[]a]"]
COMPARED = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"]


class Draw:
    """Statements; each assigns its variables first, so that none depends on another."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, *choices):
        return self.random.choice(choices)

    def text(self):
        return self.pick(*TEXTS)

    def quoted(self):
        text = self.text()
        return "'" + text.replace("'", "'\\''") + "'"

    def number(self):
        return self.random.randint(-9, 40)

    def sum(self, depth=0):
        """An arithmetic expression that divides by no variable."""
        kind = self.random.randrange(11) if depth < 3 else self.random.randrange(3)
        a = lambda: self.sum(depth + 1)
        if kind < 3:
            return self.pick(str(self.random.randrange(50)), "N", "M", "$N", "0x1f", "017", "2#101")
        if kind < 6:
            return f"{a()} {self.pick('+', '-', '*', '|', '&', '^')} {a()}"
        if kind == 6:
            return f"({a()}) {self.pick('/', '%')} {self.random.randint(1, 9)}"
        if kind == 7:
            return f"({a()} {self.pick('<', '<=', '>', '>=', '==', '!=', '&&', '||')} {a()})"
        if kind == 8:
            return f"({a()} ? {a()} : {a()})"
        if kind == 9:
            return f"{self.pick('-', '~', '!', '+')}({a()})"
        return f"({a()}) {self.pick('<<', '>>', '**')} {self.random.randrange(5)}"

    def expansion(self):
        pattern = self.pick(*PATTERNS)
        return self.pick(
            "${A%s%s}" % (self.pick("#", "##", "%", "%%"), pattern),
            "${A%s%s/%s}" % (self.pick("/", "//", "/#", "/%"), pattern.replace("/", "\\/"), self.pick("", "_", "XY")),
            "${A:%d}" % self.random.randrange(9), "${A:%d:%d}" % (self.random.randrange(5), self.random.randrange(6)),
            "${A: -%d}" % self.random.randint(1, 3), "${A:N:M}", "${#A}", "${A^}", "${A^^}", "${A,}", "${A,,}",
            "${A%sz}" % self.pick(":-", "-", ":+", "+"), "${GONE%sz$N}" % self.pick(":-", "-", ":+", "+"), "$A", "${A}x")

    def condition(self):
        return self.pick(
            f"[ $N {self.pick(*COMPARED)} {self.number()} ]", f"[[ $N {self.pick(*COMPARED)} $M ]]",
            f"(( {self.sum()} ))", f"[ {self.pick('-n', '-z')} \"$A\" ]", f"[ \"$A\" {self.pick('=', '!=')} {self.quoted()} ]",
            f"[[ $A {self.pick('==', '!=')} {self.pick(*PATTERNS)} ]]", f"[[ $A {self.pick('<', '>')} {self.quoted()} ]]",
            "[[ $A =~ ^[a-z]+ ]]", "[[ -n $A && $N -gt 3 ]]", "[ $N -gt 3 -a $M -lt 9 ]", "[ $N -gt 9 -o -z \"$A\" ]",
            "! [ $N -eq 4 ]", "[[ ! -z $A || $M -eq 3 ]]", "[[ -v A ]]", "[[ -z ${GONE+x} ]]")

    def list(self):
        return "L=(" + " ".join(self.quoted() for _ in range(self.random.randint(1, 5))) + ")"

    def lists(self):
        """Of an array."""
        change = self.pick("", "L+=(end)", "L[1]=new", "L[0]+=x", "L[-1]=last", "L[N * N + 7]=far")
        index = self.pick("0", "1", "-1", "N > 3", "${#L[@]} - 1")
        shown = self.pick('"${L[@]}"', '"${L[*]}"', "${#L[@]}", f'"${{L[{index}]}}"', '"${L[@]:1}"', '"${L[@]:0:2}"', "${!L[@]}",
                          "${#L[0]}", f'"${{L[@]{self.pick("#", "%")}{self.pick("a*", "?", "x")}}}"', '"${L[@]/a/_}"',
                          '"${L[@]^^}"')
        return f"{self.list()}; {change}{'; ' if change else ''}python @ {shown}"

    def loop(self):
        body = self.pick("S+=$I,", "(( I == 3 )) && continue; S+=$I,", "[ $I -gt 4 ] && break; S+=$I,", "S=$((S + I))")
        start, step = self.random.randrange(4), self.random.randint(1, 3)
        head = self.pick(f"for I in {{{start}..{start + 5}}}", f"for I in $(seq {start} {step} {start + 7})",
                         f"for ((I = {start}; I < {start + 6}; I += {step}))", "for I in 5 3 4 1",
                         f"I={start}; while (( I++ < 6 ))", f"I={start}; until [ $((I += {step})) -ge 9 ]")
        return f"S=; {head}; do {body}; done; python @ $S $I"

    def choice(self):
        patterns = self.random.sample(PATTERNS, 3)
        return (f"case {self.pick('$A', 'abc', '$N')} in {patterns[0]}) R=1 ;; {patterns[1]} | {patterns[2]}) R=2 ;; "
                "*) R=3 ;; esac; python @ $R")

    def function(self):
        body = self.pick('local N=$1; shift; python @ "$@" $# $N', 'echo "$2-$#"', 'M=$((N + ${1:-0})); return $(( M & 7 ))',
                         'local A; A="$*"; python @ "$A"', 'set -- "$@" more; shift 2; python @ "$@"',
                         '[ $# -gt 2 ] && return 1; python @ few')
        arguments = " ".join([str(self.number())] + [self.quoted() for _ in range(self.random.randrange(4))])
        return f"f() {{ {body}; }}; R=$(f {arguments}); f {arguments} >/dev/null; python @ $? \"$R\" $N $M" \
            if body.startswith(("echo", "M=")) else f"f() {{ {body}; }}; f {arguments}; python @ $? $N \"$A\""

    def output(self):
        return "python @ " + self.pick(
            '"$(echo $A)"', "$(echo \"$A\" | wc -w)", f"$(echo $A | tr {self.pick('a-z A-Z', 'A-Z a-z', 'a _', '. -')})",
            f"$(echo $A | tr -d {self.pick('a', '.', '-')})", '"$(basename "x$A")"', '"$(dirname "x$A")"', '"$(basename a/b.c .c)"',
            f"$(seq {self.number()} {self.number()})", f"$(expr {self.number()} + {self.number()})", '"$(printf "%s-%d" "$A" $N)"',
            "$(printf '%s,' 1 2 \"$N\")", "$(echo -n $N)$M", "$(cat <<< $N)", "`echo $N $M`", "$(( $(echo $N) * 2 ))")

    def reading(self):
        ifs = self.pick("", "IFS=", "IFS=, ", "IFS=: ")
        return f"{'IFS=, ' if ifs else ''}read -r X Y <<< \"$N,$M,7 8\"; python @ \"$X\" \"$Y\""

    def words(self):
        return "python @ " + self.pick(
            f"{{a,b}}{self.number()}", "x{1..4}y", "{3..1}", "{a,b}{1,2}", "pre{,post}", "'$A'", '"\\$A"', "\\$A", "a\\ b", "$'x\\ty'",
            '"$A"$N', '--k="$A"', "${A:+--k $N}", "$((N))$((M))", "''", '""', "\"'\"", "{1..9..3}")

    def keys(self):
        """Of an associative array."""
        key = self.pick("tp", "p p", "$N", "x-1")
        return (f"declare -A D=([{key}]={self.number()} [other]={self.quoted()}); D[tp]{self.pick('=', '+=')}4; "
                f'python @ "${{D[{key}]}}" "${{D[tp]}}" "${{D[other]}}" ${{#D[@]}} "${{D[none]:-no}}"; unset D')

    def sets(self):
        """What changes variables and arguments."""
        return self.pick(
            "V=A; python @ \"${!V}\"", "unset A; python @ \"${A:=new}\" $A", "let 'N += M * 2' 'M = 3'; python @ $N $M",
            "set -- \"$A\" b 'c d'; shift; python @ \"$@\" $# \"$*\" \"${@: -1}\" \"${@:1:1}\" $2", "set -- ; python @ \"$@\" x\"$@\" $#",
            "eval \"E=$N\"; python @ $E", "A+=more; python @ \"$A\"", "(( N > 3 )) && A=big; python @ \"$A\"", "N=$M M=$N; python @ $N $M",
            "{ N=8; python @ $N; }; python @ $N", "f() { A=out; local M=in; g; }; g() { python @ $A $M; }; f; python @ $M",
            "cat <<< \"$A\" >/dev/null; python @ $?", "false; python @ $?", "true && false || R=3; python @ $R", "A=\"${A// /_}\"; python @ $A",
            "L=(); L[${#L[@]}]=a; L[${#L[@]}]=b; python @ \"${L[@]}\" ${#L[@]}", "readonly Q=2; python @ $Q",
            "A=a:b:c; IFS=: read -ra L <<< \"$A\"; python @ \"${L[@]}\"")

    def statement(self):
        kind = self.random.randrange(14)
        if kind == 0:
            return f"python @ $(( {self.sum()} ))"
        if kind == 1:
            return f"X=$(( N {self.pick('+=', '-=', '*=', '=')} {self.sum()} )); python @ $X $N $(( {self.pick('N++', '++N', 'N--', '--N')} )) $N"
        if kind in (2, 3):
            return f'python @ "{self.expansion()}"'
        if kind == 4:
            return f"if {self.condition()}; then python @ yes; else python @ no; fi"
        if kind == 5:
            return f"{self.condition()} && R=1 || R=0; {self.condition()} || R+=x; python @ $R"
        return (self.lists, self.loop, self.choice, self.function, self.output, self.words,
                self.keys, self.sets)[kind - 6]()

    def script(self):
        lines = []
        for number in range(LINES):
            start = f"A={self.quoted()}; N={self.number()}; M={self.random.randint(1, 9)}; "
            lines.append(start + self.statement().replace("python @", f"python {number}"))
        return "\n".join(lines) + "\n"


def run(words, text):
    done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=60, check=False,
                          env=dict(os.environ, LC_ALL="C"))
    return done.stdout


def by_line(commands):
    """Number of the line -> its commands."""
    found = {}
    for command in commands:
        found.setdefault(command[1], []).append(command[2:])
    return found


def compare(program, seed, folder):
    script = Draw(seed).script()
    path = pathlib.Path(folder) / "script.sh"
    path.write_text(script, encoding="utf-8")
    wanted = by_line([words[:-1].split("\0") for words in run(["bash", "--norc"], HEAD + script).split("\n\0")[:-1]])
    found = by_line([json.loads(line) for line in run([*EMULATOR, program, str(path)], "").splitlines()])
    wrong = 0
    for number, line in enumerate(script.splitlines()):
        a, b = wanted.get(str(number)), found.get(str(number))
        if a != b:
            print(f"script {seed}, {line}\n  bash   {a}\n  reckon {b}")
            wrong += 1
    return wrong, len(wanted)


def main():
    program, scripts = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 8
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    if not shutil.which("bash"):
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        counts = [compare(program, seed, folder) for seed in range(first, first + scripts)]
    wrong, all_lines = (sum(column) for column in zip(*counts))
    print(f"{all_lines} statements, {wrong} read otherwise than by bash")
    sys.exit(wrong > 0 or all_lines < 0.9 * scripts * LINES)


if __name__ == "__main__":
    main()
