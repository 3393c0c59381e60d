#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How well models are predicted that nothing was fitted to: rows of NVIDIA's tables to fit on, each by
# constants that were fitted without all rows of its model.  Prints a row of a Markdown table for
# dense models and one for those with experts; exit status 1 when a 90th percentile misses its target.
#
#     tools/left-out.sh RECKON [intervals]
#
# With "intervals" it fails, too, where those of tools/intervals.py do not hold for sources left out.
set -eu

reckon=$1
calibrations=$(dirname "$0")/../data/calibrations
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT

# left_out KIND TARGET RECIPE...
left_out()
{
    kind=$1
    target=$2
    shift 2
    for recipe; do
        "$reckon" calibrate "$calibrations/$recipe.json" --rows "$rows" -o /dev/null
        awk -F, '$3 == "false" {print $5 < 0 ? -$5 : $5}' "$rows"
    done | sort -g | awk -v kind="$kind" -v target="$target" '
        {error[NR] = 100 * $1; sum += error[NR]}
        END {
            last = error[int((9 * NR + 9) / 10)]
            printf "| %s | %d | %.1f | %.1f | %.1f | at most %d |\n", kind, NR, sum / NR,
                error[int((NR + 1) / 2)], last, target
            exit !(last <= target)
        }'
}

status=0
left_out dense 8 stacks-hopper stacks-blackwell || status=1
left_out "with experts" 20 stacks-experts || status=1
[ "${2:-}" != intervals ] || "$(dirname "$0")/intervals.py" "$reckon" || status=1
exit $status
