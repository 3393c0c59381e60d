#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The pages and figures of the studies are those of their tables.
#
#     pages.sh RECKON STUDIES
set -eu

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -R "$2" "$scratch/studies"
"$scratch/studies/run.sh" --pages "$1" >"$scratch/log"
test -s "$scratch/log"
diff -r "$2" "$scratch/studies" || {
    echo "pages of studies are out of date; renew them: studies/run.sh --pages build/reckon" >&2
    exit 1
}
