#!/usr/bin/env bash
# quotes, expansions of parameters, braces, text that is glued together
MODEL=meta-llama/Llama-3.1-8B-Instruct.tar.gz
EMPTY=
NAME="${MODEL##*/}"
python3 train.py "${NAME%.tar.gz}" "${NAME%%.*}" "${MODEL%/*}" "${MODEL/Llama/Qwen}" "${NAME//-/_}" \
    "${NAME,,}" "${NAME^^}" "${NAME:0:5}" "${NAME: -3}" "${#NAME}" "${EMPTY:-none}" "${EMPTY-set}" \
    "${UNSET-open}" "${EMPTY:+no}" "a\"b" 'it'"'"'s' "\$HOME" $'x\ty' pre"$EMPTY"post {a,b}c x{1..3} \
    --list="[1,2,'a']" "${UNSET:-"two words"}" ${UNSET:-two words}
X=a
LIST=(1 2)
X+=b LIST+=3 true
python3 train.py "$X" "${LIST[@]}" "${MODEL##*l}" "${MODEL#*l}" "${MODEL%l*}" "${MODEL%%[!a-z]*}" "${MODEL%%[0-9]*}" \
    "${MODEL#\m}" "${MODEL##*[.]}" "${MODEL//[l3]*-/_}" "${MODEL#x}" "${MODEL/#meta*a\//}" "${MODEL/%.??/}"
for i in {1..70}; do LIST=({a,b}$i); done
python3 train.py "${LIST[@]}"
