#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds words in messages of the library and the command that occur nowhere else: most are misspelt.

    spelling.py ROOT

A word of the strings in lib/ and cli/ is known if a page, a test, a program or a document has it, but for what tests
have recorded of the messages themselves.  OTHERS are names that only the sources need.
"""

import pathlib
import re
import sys

FOLDERS = ("docs", "python", "tests", "bench", "tools", "examples", "data/models", "data/stacks", "data/accelerators")
ENDINGS = {".md", ".py", ".pyi", ".txt", ".golden", ".sh", ".c", ".h", ".json", ".csv", ".yaml", ".toml", ".jsonl"}
RECORDS = {".txt", ".golden"}  # of tests
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
NO_WORD = re.compile(r"%[-+ #0-9.*]*(?:hh|ll|[hlzjt])?[a-zA-Z]|\\.")
COMMENT = re.compile(r"/\*.*?\*/|#include[^\n]*", re.S)
OTHERS = set("""
abcdefabcdef abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz adagrad adalomo ademamix animation approximated
arial attnblock averaging beam beams blockscaling bottom btnfr captures charset clush cname collapse collisions
colossalai coreattn counterpart crispedges cudnnfp cudnnmxfp currentscaling dasharray datatypes ddd delayedscaling
depreciation dequantized desc deterioration development dimensions dion distil distributedoptimizer docx eee eeeff
eekkmmggtt effectiveness egd elementwise eplicas estimating etdml etter evaluating excluding exclusive fatal fbw fff
figcaption font forrewardmodel forsequenceclassification fortokenclassification fullshard fullyshardeddataparallel
fusedadam gif gold gptneox grams grey grokadam helvetica hftrainer hostnames hourly htm ider immediate improvement
improves invalidates iowait ipo ither jpeg jpg kkmmggtt kmg kmgt lang leads liberation lighter linejoin llmfoundry
lmhead localid lomo megatronbridge megatroncore megatrondeepspeed megatronfsdp megatronlm mgtpe mindspeedllm minillm
mlaupproj mlpblock mlpwi mlpwo modelfor moeact molmo mptmlp msswift nash nemoautomodel nemoframework
neuronxdistributed ngram nodeid noshard notset nowrap numeric ods olmocore online opacity openlm optimgrads
optimgradsparams optimumneuron orpo overflow paint parquet pdsh periodic pflops pftrace ppn pragma procid
pytorchlightning rarer realm reclaimable reducescatter refits rem rendering repeating rerank retrieval retro
rewardmodel role rowid runner sage salloc sam sans sdiufq sdp sel sendrecv seqsel serif shardgradop silence simpo
sketch solid sooner sssoso subchannel synchronizations tabular tbps timestamp tpcpepdppp tpcpepppdp tsv uly usp
varying verbosity vertical viewbox viewport wbt webp weeks words wqkv xls xmlns xob zag zbv zig znvfedsrwxhltpsbcgkuno
zst
""".split())


def folder_of(path, root):
    return path.relative_to(root).parts[0]


def words_of(text):
    return set(re.findall(r"[a-z]{3,}", text.lower()))


def main():
    root = pathlib.Path(sys.argv[1])
    known = set(OTHERS)
    for path in (path for folder in FOLDERS for path in (root / folder).rglob("*")):
        recorded = folder_of(path, root) == "tests" and path.suffix in RECORDS
        if path.suffix in ENDINGS and not recorded and path.is_file() and path != pathlib.Path(__file__).resolve():
            known |= words_of(path.read_text(encoding="utf-8", errors="replace"))
    unknown = 0
    for path in sorted(path for folder in ("lib", "cli") for path in (root / folder).rglob("*.[ch]")):
        text = COMMENT.sub(lambda found: "\n" * found[0].count("\n"), path.read_text(encoding="utf-8"))
        for number, line in enumerate(text.splitlines(), 1):
            for string in STRING.findall(line):
                for word in sorted(words_of(NO_WORD.sub(" ", string)) - known):
                    print(f"{path.relative_to(root)}:{number}: \"{word}\" is in no page, test or document: "
                          "is it spelt right? then add it to OTHERS")
                    unknown += 1
    print(f"{unknown} unknown words")
    return unknown > 0


if __name__ == "__main__":
    sys.exit(main())
