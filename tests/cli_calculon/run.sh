#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `reckon calculon` from the outside: outputs, messages and exit statuses.
# usage: run.sh RECKON COMPARE_JSON
# shellcheck disable=SC2086 # lists of arguments without blanks of their own
set -u

# absolute PATH
absolute() { echo "$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"; }

reckon=$(absolute "$1") compare=$(absolute "$2")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
cp "$here"/*.json .

checks=0 failures=0

fail() {
    failures=$((failures + 1))
    echo "FAILED: $*"
}

# run STATUS ARGUMENT...: runs a command into the files `out` and `err`, expects an exit status.
run() {
    wanted=$1
    shift
    ran="calculon $*"
    checks=$((checks + 1))
    "$reckon" calculon "$@" > out 2> err
    status=$?
    [ "$status" -eq "$wanted" ] || { fail "$ran: exit status $status, not $wanted"; cat out err; }
}

# refuse ARGUMENT...: expects one line of error, nothing on standard output, and exit status 2.
refuse() {
    run 2 "$@"
    [ ! -s out ] || fail "$ran: wrote to standard output"
    [ "$(wc -l < err)" -eq 1 ] || { fail "$ran: not one line of error"; cat err; }
}

# says FILE TEXT: expects a line to hold a fixed text.
says() {
    checks=$((checks + 1))
    grep -q -F -e "$2" "$1" || { fail "$ran: $1 does not say: $2"; cat "$1"; }
}

# same EXPECTED ACTUAL: expects two files to be equal.
same() {
    checks=$((checks + 1))
    diff "$1" "$2" || fail "$ran: $2 is not as expected"
}

# same_json EXPECTED ACTUAL: expects the same document, reals to 1e-9.
same_json() {
    checks=$((checks + 1))
    "$compare" "$1" "$2" || fail "$ran: $2 is not as expected"
}

# absent FILE: expects that nothing was written.
absent() {
    checks=$((checks + 1))
    [ ! -e "$1" ] || fail "$ran: $1 was written"
}

# equal EXPECTED ACTUAL WHAT
equal() {
    checks=$((checks + 1))
    [ "$1" = "$2" ] || fail "$ran: $3 is $2, not $1"
}

# edit FILE EXPRESSION NEW: writes an edited copy of a document; the edit must change it.
edit() {
    sed -e "$2" "$1" > "$3"
    ! cmp -s "$1" "$3" || fail "edit of $1 without effect: $2"
}

documents="example1_app.json example1_exe.json example1_sys.json"

# ---- global options ------------------------------------------------------------------------

for version in version v; do
    run 0 "$version"
    equal 0.1.0 "$(cat out)" version
done
run 0 --help
says out '{llm,llm-optimal-execution,loe,llm-all-executions,lae,llm-parameter-calculator,lpc,llm-validation,lv,version,v} ...'
for command in llm llm-optimal-execution loe llm-all-executions lae llm-parameter-calculator lpc \
    llm-validation lv version v; do
    run 0 "$command" --help
    says out 'usage:'
    run 0 "$command" -h
done
run 0 -l log.txt lpc example1_app.json
equal '' "$(cat out)" 'output beside the log'
says log.txt '22.074 G'
run 0 --log=- -vDEBUG lpc example1_app.json
says out '22.074 G'
run 0 -v WARNING lpc example1_app.json
equal '' "$(cat out)" 'output below the level'
run 0 -- version
equal 0.1.0 "$(cat out)" version
refuse
refuse --
refuse -v INFO
refuse -- frobnicate
refuse frobnicate
refuse llm-validatoin
says err llm-validation
refuse -v LOUD version
refuse --nonsense version
refuse -l
refuse -l no/such/folder/log version
says err no/such/folder/log
if [ -c /dev/full ]; then
    refuse -l /dev/full lpc example1_app.json
    checks=$((checks + 1))
    "$reckon" calculon lpc example1_app.json > /dev/full 2> err
    equal 2 $? 'exit status when standard output is full'
fi

# ---- llm -------------------------------------------------------------------------------------

run 0 llm $documents -
same "$here/example1_report.txt" out
run 0 llm $documents stats.json
equal '' "$(cat out)" 'console output'
same_json "$here/example1_stats.json" stats.json
equal 98 "$(grep -c '' stats.json)" 'number of lines'
equal '}' "$(tail -c 1 stats.json)" 'last character'
run 0 llm megatron-22B example1_exe.json a100_80g named.json.gz
gzip -dc named.json.gz > named.json
same_json stats.json named.json
equal 0 "$(wc -l < named.json)" 'newlines in packed JSON'

run 0 llm $documents --layers layers.json
sed -n 's/.*"name": "\(.*\)",*/\1/p' layers.json > layers.txt
same "$here/layers.txt" layers.txt
equal 1249 "$(grep -c '": ' layers.json)" 'number of keys' # 96 + 1 + 24 * 48

run 0 llm -p peers_out.json megatron-126M peers_exe.json a100_80g peers_stats.json
same_json "$here/peers.json" peers_out.json
run 0 llm megatron-126M peers_exe.json a100_80g peers_stats.json --peer=packed.json.gz
gzip -dc packed.json.gz > packed.json
same_json "$here/peers.json" packed.json

# Misfits: message on standard output, status 255, nothing written.
edit example1_sys.json 's/"GiB": 80/"GiB": 40/' small.json
run 255 llm example1_app.json example1_exe.json small.json none.json -p none_peers.json
equal 'ERROR: Mem tier1 needs 52.080 GiB but only has 40.000 GiB' "$(cat out)" message
equal '' "$(cat err)" 'standard error'
absent none.json
absent none_peers.json
edit example1_exe.json 's/\("num_procs"\|"tensor_par"\): 8/\1: 16/' wide.json
run 255 -l log.txt llm example1_app.json wide.json example1_sys.json -
equal "ERROR: Network tier0 isn't big enough" "$(cat out)" message

# Faults: what the published tool dies of.
edit example1_exe.json 's/"tensor_par": 8/"tensor_par": 4/' fault.json
refuse llm example1_app.json fault.json example1_sys.json none.json
says err fault.json
edit example1_exe.json '/"num_procs"/d' fault.json
refuse llm example1_app.json fault.json example1_sys.json none.json
says err num_procs
edit example1_exe.json 's/"float16"/"float8"/' fault.json
refuse llm example1_app.json fault.json example1_sys.json none.json
edit example1_app.json 's/"hidden": 6144,/"hidden" 6144,/' fault.json
refuse llm fault.json example1_exe.json example1_sys.json none.json
says err fault.json:2:
edit example1_sys.json 's/"roofline"\|"no_overlap"/"overlap"/' fault.json
refuse llm example1_app.json example1_exe.json fault.json none.json
says err processing_mode
edit example1_exe.json 's/"float16"/"float64"/;s/"optimizer_offload": false/"optimizer_offload": true/' fault.json
edit example1_app.json 's/"num_blocks": [0-9]*/"num_blocks": 2/' two_blocks.json
refuse llm two_blocks.json fault.json example1_sys.json none.json
says err 'datatype: expected "float8"'
refuse llm missing.json example1_exe.json example1_sys.json none.json
says err missing.json
refuse llm megatron-22C example1_exe.json example1_sys.json none.json
says err megatron-22B
absent none.json

# Usage.
refuse llm
refuse llm example1_app.json example1_exe.json
refuse llm $documents - extra
refuse llm $documents stats.txt
refuse llm $documents - -p peers.txt
refuse llm $documents - -p
refuse llm $documents - --layers=yes
refuse llm $documents - -x
refuse llm $documents /no/such/folder/stats.json

# ---- llm-parameter-calculator ----------------------------------------------------------------

while read -r model _; do
    run 0 lpc "$model"
    cat out
done < "$here/parameters.txt" > parameters.txt
same "$here/parameters.txt" parameters.txt
run 0 lpc example1_app.json -a 20
equal 'example1_app         -> 22.074 G' "$(cat out)" line
run 0 llm-parameter-calculator -a0 ./example1_app.json
equal 'example1_app -> 22.074 G' "$(cat out)" line
gzip -c example1_app.json > model.v1.json.gz
run 0 lpc --alignment=14 model.v1.json.gz
equal 'model.v1.json  -> 22.074 G' "$(cat out)" line
edit example1_app.json 's/: [0-9]*/: 1/' tiny.json
run 0 lpc tiny.json # 1 * (2 + 4 + 2 + 4 + 4) + 51201
equal 'tiny          -> 51.217 k' "$(cat out)" line
refuse lpc
refuse lpc example1_app.json -a many

# ---- llm-optimal-execution -------------------------------------------------------------------

search="megatron-126M 2 4 float16 a100_80g"
run 0 loe $search best.json -t 40
says out 'Total executions: 4408'
says out 'Good executions: 4408'
says out 'Bad executions: 0'
says out 'Best sample rate: 89.23507311369018'
says out 'Output: best.json'
equal 6 "$(wc -l < out)" 'number of lines'
grep -q '^Calculation rate: [0-9]*\.[0-9][0-9] calcs/sec$' out || fail "$ran: rate line"
equal 40 "$(grep -c '"execution": ' best.json)" 'number of results'
for threads in 1 3; do
    run 0 llm-optimal-execution -c "$threads" $search again.json --top-n=40
    same best.json again.json
done
run 0 loe $search layers.json -l
equal 24 "$(grep -c '"name": ' layers.json)" 'number of layers'
run 0 loe $search best.csv -t 3
equal 4 "$(wc -l < best.csv)" 'number of rows'
equal 120 "$(head -n 1 best.csv | tr ',' '\n' | wc -l)" 'number of columns'
equal ',num_procs' "$(cut -c -10 best.csv | head -n 1)" 'start of the header'
equal 0,1,2 "$(tail -n 3 best.csv | cut -d , -f 1 | tr '\n' ',' | sed 's/,$//')" 'ranks'
equal 89.23507311369018 "$(sed -n 2p best.csv | sed 's/.*,//')" 'best rate in the table'

# The best mapping, evaluated on its own, has the statistics of the search.
run 0 loe $search first.json.gz
gzip -dc first.json.gz | sed 's/^{"0": {"execution": \(.*\), "stats": .*/\1/' > first_exe.json
gzip -dc first.json.gz | sed 's/.*"stats": \(.*\)}}$/\1/' > first_stats.json
run 0 llm megatron-126M first_exe.json a100_80g first.json
same_json first_stats.json first.json

run 0 loe $search most.csv -t 100000
equal 4409 "$(wc -l < most.csv)" 'number of rows'

# Counting; an output that is not written need not be right.
for counted in '197448' '50312 -m' '165680 -f all --no-tp-overlap' '165680 -f * --no-tp'; do
    set -f
    set -- $counted
    set +f
    total=$1
    shift
    run 0 loe megatron-126M 8 16 float16 a100_80g none.txt -d "$@"
    says out "Total executions: $total"
    says out 'Good executions: 0'
    equal 4 "$(wc -l < out)" 'number of lines'
done
run 0 loe palm-540B 472 100 float8 h100_80g_nvl8 - --debug
says out 'Total executions: 236208'

# Nothing runs.
nothing="turing-530B 8 8 float16 a100_80g"
run 255 loe $nothing none.json
says out 'No acceptable configurations found :('
absent none.json
run 0 loe $nothing empty.json -n
says out 'No acceptable configurations found :('
equal '{}' "$(cat empty.json)" 'empty ranking'
run 0 loe $nothing empty.csv --noneok
same empty.csv - << HEADER
$(head -n 1 best.csv)
HEADER

refuse loe $search
refuse loe $search best.txt
refuse loe $search best.csv -l
refuse loe $search best.json -t 0
refuse loe $search best.json -c 0
refuse loe $search best.json -t many
refuse loe $search best.json --no
refuse loe $search best.json -f maybe
refuse loe megatron-126M 2 4 float64 a100_80g best.json
refuse loe megatron-126M 0 4 float16 a100_80g best.json
refuse loe megatron-126M two 4 float16 a100_80g best.json
refuse loe megatron-126M 2 4 float8 a100_80g best.json
refuse loe megatron-126N 2 4 float16 a100_80g best.json

# ---- llm-all-executions ----------------------------------------------------------------------

run 0 lae $search all.csv
says out 'Total executions: 4408'
says out 'Good executions: 4408'
equal 4 "$(wc -l < out)" 'number of lines'
equal 4409 "$(wc -l < all.csv)" 'number of rows'
head -n 1 best.csv | cut -c 2- > header.txt
head -n 1 all.csv > all_header.txt
same header.txt all_header.txt
equal 89.23507311369018 "$(sed '1d; s/.*,//' all.csv | sort -g | tail -n 1)" 'best rate of all'
sed -n '2s/^0,//p' best.csv > best_row.txt
checks=$((checks + 1))
grep -q -x -F -f best_row.txt all.csv || fail "$ran: the best row of loe is not in the table"
run 0 llm-all-executions $search all.csv.gz -c 2
gzip -dc all.csv.gz > unpacked.csv
same all.csv unpacked.csv
run 0 lae $search none.csv -d
says out 'Good executions: 4408'
absent none.csv
run 0 lae megatron-126M 3 6 float16 a100_80g mixed.csv
good=$(sed -n 's/Good executions: //p' out)
equal "$((good + 1))" "$(wc -l < mixed.csv)" 'number of rows'
run 255 lae $nothing none.csv
says out 'No acceptable configurations found :('
absent none.csv
run 0 lae $nothing none.csv -n
same all_header.txt none.csv
refuse lae $search all.json
refuse lae $search all.csv -m
refuse lae $search all.csv -t 3

# ---- llm-validation --------------------------------------------------------------------------

run 0 lv
same "$here/lv.txt" out
mkdir -p base/applications base/systems
sed 's/"num_blocks": 48/"num_blocks": 24/' example1_app.json > base/applications/megatron-22B.json
run 0 llm-validation -b base
checks=$((checks + 1))
! diff -q "$here/lv.txt" out > /dev/null || fail "$ran: the document of --base_dir was not used"
run 0 lv --verbose
equal 36 "$(grep -c '^total_time,' out)" 'number of executions'
refuse lv --base_dir no/such/folder
refuse lv extra

echo "$checks checks, $failures failures"
[ "$failures" -eq 0 ]
