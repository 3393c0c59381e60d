#!/usr/bin/env bash
# quotes, expansions of parameters, braces, text that is glued together
MODEL=meta-llama/Llama-3.1-8B-Instruct.tar.gz
EMPTY=
NAME="${MODEL##*/}"
python3 train.py "${NAME%.tar.gz}" "${NAME%%.*}" "${MODEL%/*}" "${MODEL/Llama/Qwen}" "${NAME//-/_}" \
    "${NAME,,}" "${NAME^^}" "${NAME:0:5}" "${NAME: -3}" "${#NAME}" "${EMPTY:-none}" "${EMPTY-set}" \
    "${UNSET-open}" "${EMPTY:+no}" "a\"b" 'it'"'"'s' "\$HOME" $'x\ty' pre"$EMPTY"post {a,b}c x{1..3} \
    --list="[1,2,'a']" "${UNSET:-"two words"}" ${UNSET:-two words}
