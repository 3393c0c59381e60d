#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds words in messages of the library and the command that stand nowhere else: most are misspelt.

    spelling.py ROOT

A word of the strings in lib/ and cli/ is known if a page, a test, a program or a document has it.  OTHERS are names that
only the sources need.
"""

import pathlib
import re
import sys

FOLDERS = ("docs", "python", "tests", "bench", "tools", "examples", "data/models", "data/stacks", "data/accelerators")
ENDINGS = {".md", ".py", ".pyi", ".txt", ".golden", ".sh", ".c", ".h", ".json", ".csv", ".yaml", ".toml", ".jsonl"}
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
NO_WORD = re.compile(r"%[-+ #0-9.*]*(?:hh|ll|[hlzjt])?[a-zA-Z]|\\.")
COMMENT = re.compile(r"/\*.*?\*/|#include[^\n]*", re.S)
OTHERS = set("""
abcdefabcdef abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz adagrad adalomo animation approximated beam beams
blockscaling bottom btnfr charset collapse coreattn crispedges cudnnfp cudnnmxfp currentscaling dasharray depreciation
dequantized development dion distil distributedoptimizer docx eeeff eekkmmggtt effectiveness egd elementwise eplicas
estimating etdml etter excluding fbw figcaption forrewardmodel forsequenceclassification fortokenclassification
fullshard fullyshardeddataparallel fusedadam gptneox grokadam hftrainer htm ider immediate improves invalidates iowait
ither jpeg jpg kkmmggtt kmg kmgt lang leads llmfoundry lmhead lomo megatronbridge megatroncore megatrondeepspeed
megatronfsdp megatronlm mgtpe mindspeedllm mlaupproj modelfor moeact molmo msswift nemoautomodel nemoframework
neuronxdistributed ngram noshard nowrap numeric ods olmocore opacity openlm optimgrads optimgradsparams optimumneuron
overflow paint pflops pftrace pragma pytorchlightning reducescatter refits rem rendering repeating rerank rewardmodel
rowid sam sdiufq sendrecv shardgradop silence sketch solid sooner sssoso synchronizations tabular tbps timestamp
tpcpepdppp tpcpepppdp tsv vertical viewport wbt webp weeks xls xob zbv znvfedsrwxhltpsbcgkuno zst
""".split())


def words_of(text):
    return set(re.findall(r"[a-z]{3,}", text.lower()))


def main():
    root = pathlib.Path(sys.argv[1])
    known = set(OTHERS)
    for path in (path for folder in FOLDERS for path in (root / folder).rglob("*")):
        if path.suffix in ENDINGS and path.is_file() and path != pathlib.Path(__file__).resolve():
            known |= words_of(path.read_text(encoding="utf-8", errors="replace"))
    unknown = 0
    for path in sorted(path for folder in ("lib", "cli") for path in (root / folder).rglob("*.[ch]")):
        text = COMMENT.sub(lambda found: "\n" * found[0].count("\n"), path.read_text(encoding="utf-8"))
        for number, line in enumerate(text.splitlines(), 1):
            for string in STRING.findall(line):
                for word in sorted(words_of(NO_WORD.sub(" ", string)) - known):
                    print(f"{path.relative_to(root)}:{number}: \"{word}\" stands in no page, test or document: "
                          "is it spelt right? then add it to OTHERS")
                    unknown += 1
    print(f"{unknown} unknown words")
    return unknown > 0


if __name__ == "__main__":
    sys.exit(main())
