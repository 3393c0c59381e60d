#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `reckon sweep` as a person uses it, and the examples of its page and manual.
#
#     cli.sh RECKON ROOT SQLITE     SQLITE: 1 when reckon was built with it, else 0
set -eu

reckon=$(realpath "$1")
page=$(realpath "$2")/docs/sweep.md
manual=$(realpath "$2")/man/reckon-sweep.1.scd
sqlite=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail()
{
    echo "cli.sh: $*" >&2
    exit 1
}

# expect STATUS COMMAND...: runs the command into out and err.
expect()
{
    wanted=$1
    shift
    status=0
    "$@" >out 2>err || status=$?
    [ "$status" -eq "$wanted" ] || fail "$*: exit $status instead of $wanted: $(cat err)"
}

# block LANGUAGE NUMBER: the text of that code block of the page.
block()
{
    awk -v language="$1" -v number="$2" '
        /^```/ && inside { inside = 0; next }
        $0 == "```" language && ++count == number { inside = 1; next }
        inside' "$page"
}

cat >small.json <<'END'
{"application": "megatron-126M", "system": "a100_80g", "batch": 4, "datatype": "float16",
 "axes": [{"key": "processors", "values": [1, 2, 4]}]}
END
cat >none.json <<'END'
{"application": "gpt3-175B", "system": "a100_80g", "batch": 1, "datatype": "float16",
 "processors": 1, "mbs_break": true}
END
cat >typo.json <<'END'
{"application": "gpt3-175B", "system": "a100_80g", "batch": 1, "datatype": "float16",
 "processors": 1, "axes": [{"key": "system.mem3.GiB", "values": [40, 80]}]}
END

# The table goes to standard output unless it is sent elsewhere; nothing else does.
expect 0 "$reckon" sweep small.json
[ ! -s err ] || fail "a pipe sees messages: $(cat err)"
[ "$(wc -l <out)" -eq 4 ] || fail "a row for each point"
mv out direct.csv
expect 0 "$reckon" sweep small.json -o file.csv --threads 1
[ ! -s out ] || fail "-o writes to standard output too"
cmp direct.csv file.csv || fail "threads change the table"

expect 0 "$reckon" sweep small.json --dry-run -o not.csv
grep -q '^points  *3$' out || fail "--dry-run does not count the points"
[ ! -e not.csv ] || fail "--dry-run writes a table"

# Exit statuses.
expect 1 "$reckon" sweep none.json -o none.csv
grep -q 'nothing fits at any point' err || fail "nobody says that nothing fits"
[ "$(wc -l <none.csv)" -eq 2 ] || fail "a point where nothing fits has no row"
expect 2 "$reckon" sweep
expect 2 "$reckon" sweep missing.json
expect 2 "$reckon" sweep small.json --resume -o file.csv
grep -q -- '--sqlite' err || fail "--resume alone: no advice"
expect 2 "$reckon" sweep typo.json
[ ! -s out ] || fail "a wrong document starts a table"
line=$(cat err)
grep -qF -- "$line" "$page" || fail "docs/sweep.md shows another message than: $line"

# The examples of the manual and of the page.
sed -n '/^{$/,/^}$/p' "$manual" >manual.json
expect 0 "$reckon" sweep manual.json --dry-run
grep -q '^points  *15$' out || fail "the grid of the manual has other points"
block json 1 >grid.json
expect 0 "$reckon" sweep grid.json --dry-run
sed -n '/sweep grid.json --dry-run$/,/^\$/p' "$page" | sed '1d;$d' | cmp - out ||
    fail "docs/sweep.md shows other counts"

block json 4 >expressions.json
expect 0 "$reckon" sweep expressions.json --dry-run
grep -q '^points  *22 of 36' out || fail "the expressions of docs/sweep.md drop other points"

# Its grids of the reckon model, and of a front, which it shows.
block json 5 >plans.json
expect 0 "$reckon" sweep plans.json --pareto days,cost
[ "$(wc -l <out)" -gt 3 ] || fail "docs/sweep.md: a front of less than three"
block json 6 >estimate.json
expect 0 "$reckon" sweep estimate.json
[ "$(grep -c '' out)" -eq 13 ] || fail "docs/sweep.md: an estimate at each of twelve points"
block json 7 >machines.json
expect 0 "$reckon" sweep machines.json --pareto million,days
sed -n '/sweep machines.json --pareto/,/^```/p' "$page" | sed '1d;$d' | cmp - out ||
    fail "docs/sweep.md shows another front"

if [ "$sqlite" -eq 0 ]; then
    expect 2 "$reckon" sweep small.json --sqlite small.db
    grep -q 'without SQLite' err || fail "nobody says that SQLite is missing"
    exit 0
fi

expect 0 "$reckon" sweep small.json --sqlite small.db
[ ! -s out ] || fail "--sqlite writes a table to standard output"
expect 2 "$reckon" sweep small.json --sqlite small.db
expect 0 "$reckon" sweep small.json --sqlite small.db --resume -o again.csv
cmp direct.csv again.csv || fail "a resumed table differs"

expect 0 "$reckon" sweep grid.json --sqlite results.db -o results.csv
if command -v sqlite3 >/dev/null; then
    block sql 1 | sqlite3 -header results.db >found
    block text 1 | cmp - found || fail "docs/sweep.md shows other results"
    block sql 2 | sqlite3 -header -csv results.db | wc -l >found
    wc -l <results.csv | cmp - found || fail "the query of docs/sweep.md finds other rows"
    expect 0 "$reckon" sweep machines.json --pareto million,days --sqlite machines.db
    mv out front.csv
    expect 0 "$reckon" sweep machines.json --pareto million,days -o front.csv
    block sql 3 | sqlite3 -csv machines.db | wc -l >found
    sed 1d front.csv | wc -l | cmp - found || fail "docs/sweep.md: a front of other rows"
fi
