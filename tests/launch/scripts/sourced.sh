#!/bin/bash
# a sourced file with words has these, and the script has its own again behind it
set -- one two three
. ./words.inc eight nine
python train.py "$FIRST" "$COUNT" "$@" "$#"
. ./words.inc
python train.py "$FIRST" "$COUNT" "$@" "$#"
