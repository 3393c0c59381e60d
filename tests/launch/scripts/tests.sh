#!/bin/bash
# tests by regular expressions and over lines, here-documents behind blanks
NAME=llama3-70b
[[ $NAME =~ a3 ]] && A="--inside"
[[ $NAME =~ ^l.*b$ ]] && A="$A --whole"
[[ $NAME =~ ma$ ]] || A="$A --not-at-end"
[[ $NAME =~ 70+x?b ]] && A="$A --repeats"
[[ ($NAME == llama*) &&
   $NAME != *8b
]] && A="$A --lines"
read -r B << WORD
--here $NAME
WORD
read -r C <<-   "WORD"
	--tabs $NAME
	WORD
torchrun --nproc_per_node 8 train.py $A $B $C
