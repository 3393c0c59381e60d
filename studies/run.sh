#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Does the studies: every NAME/*.sweep.json becomes a table *.csv beside it, and page.json the
# figures, README.md and page.html.
#
#     studies/run.sh RECKON [NAME...]     all of them unless named
#     studies/run.sh --pages RECKON ...   only the figures and pages, from the tables that are there
set -eu

pages_only=
if [ "$1" = --pages ]; then
    pages_only=yes
    shift
fi
reckon=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift
cd "$(dirname "$0")"
if [ $# -eq 0 ]; then
    set -- */
fi

# The steps of Table I as a table.
validation()
{
    echo model,recomputation,measured,computed,deviation
    "$reckon" calculon llm-validation | sed -n '/^Table 5/,$p' | grep -E ',(full|seqsel),'
}

all=0
for study in "$@"; do
    for sweep in "${study%/}"/*.sweep.json; do
        if [ -e "$sweep" ] && [ -z "$pages_only" ]; then
            count=$("$reckon" sweep "$sweep" --dry-run | sed -n 's/^strategies *//p')
            all=$((all + count))
            echo "$sweep: $count strategies"
            "$reckon" sweep "$sweep" -o "${sweep%.sweep.json}.csv.part"
            mv "${sweep%.sweep.json}.csv.part" "${sweep%.sweep.json}.csv"
        fi
    done
    if [ -z "$pages_only" ] && [ "${study%/}" = validation ]; then
        validation >validation/table.csv
    fi
done
for study in "$@"; do
    study=${study%/}
    echo "$study"
    "$reckon" plot "$study/page.json" -o "$study/README.md"
    "$reckon" plot "$study/page.json" -o "$study/page.html"
done
"$reckon" plot index.json -o README.md
"$reckon" plot index.json -o page.html
if [ -z "$pages_only" ]; then
    times >times.txt
    echo "$all strategies, $(sed -n '2s/\.[0-9]*s .*/s/p' times.txt) of processor time"
    rm times.txt
fi
