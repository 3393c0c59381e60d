#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `reckon plot` from the outside: figures and pages of a small table, and what it says of mistakes.
#
#     study.sh RECKON SQLITE       SQLITE: 1 where sweeps write databases
set -eu

reckon=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
sqlite=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail()
{
    echo "study.sh: $1" >&2
    exit 1
}

cat >results.csv <<'END'
point,model,size,good,rank,rate
0,a,1,7,0,10.5
0,a,1,7,1,9
1,a,2,8,0,20
2,b,1,9,0,30
3,b,2,0,,
END

# A page with everything on it.
cat >page.json <<'END'
{"title": "All & <all>", "table": "results.csv", "names": {"a": "model A", "3": "three"},
 "tables": {"ranks": {"file": "results.csv", "all_ranks": true, "columns": {"twice": "2 * rate"}},
            "pairs": {"file": "results.csv", "beside": {"of_a": {"value": "rate", "where": "model == 'a'", "same": ["size"]}}}},
 "values": {"best": {"value": "rate", "of": "max"}, "mean": {"value": "rate", "of": "mean"},
            "count": {"value": "rate", "of": "count"}, "sum": {"value": "good", "of": "sum"},
            "least": {"table": "ranks", "value": "twice", "of": "min"},
            "gained": {"table": "pairs", "value": "rate - of_a", "where": "model == 'b'", "of": "sum"},
            "one": {"value": "rate", "where": "model == 'b' && size == 1"},
            "share": "sum / one", "high": "best > 29", "whose": {"value": "model", "of": "first"}},
 "page": [
  {"heading": "Values"},
  {"text": ["{best} {best:2} {mean:3} {count}", "{sum} {least} {share:1} {gained} {{x}", "{high} {whose}"]},
  {"figure": {"name": "lines", "x": "size", "y": "rate", "by": "model"}},
  {"figure": {"name": "bars", "kind": "bar", "x": "model", "y": "rate", "by": "size", "missing": "none"}},
  {"figure": {"name": "heat", "kind": "heat", "x": "model", "y": "size",
              "heat": {"value": "rate", "labels": true, "decimals": 1}}},
  {"table": {"columns": ["model", {"value": "rate", "decimals": 1, "title": "rate|s"}]}},
  {"table": {"rows": "model", "by": {"value": "size", "suffix": " GiB"}, "value": "rate"}},
  {"lines": [["question", "answer"], ["mean", "{mean:1}"]]},
  {"claims": [{"paper": "p", "here": "{best:0}", "holds": "best == 30"},
              {"paper": "q", "here": "h", "holds": "best < 30"},
              {"paper": "r", "here": "h", "holds": "best < 30", "partly": "best > 20"}]}]}
END
"$reckon" plot page.json -o page.md
cat >wanted <<'END'
# All & <all>

## Values

30 30.00 20.167 3 24 18 0.8 19.5 {x} true model A

![](lines.svg)

![](bars.svg)

![](heat.svg)

| model | rate\|s |
| --- | ---: |
| model A | 10.5 |
| model A | 20.0 |
| b | 30.0 |
| b | – |

| model | 1 GiB | 2 GiB |
| --- | ---: | ---: |
| model A | 10.5 | 20 |
| b | 30 | – |

| question | answer |
| --- | ---: |
| mean | 20.2 |

| the paper says | here | reproduced |
| --- | --- | --- |
| p | 30 | yes |
| q | h | no |
| r | h | in part |

END
diff -u wanted page.md || fail "the page is not what it should be"
grep -q '>none</text>' bars.svg || fail "a bar without a value is not named"
grep -q '>20.0</text>' heat.svg || fail "a cell without its label"
test "$(grep -c '<path d=' lines.svg)" -ge 2 || fail "lines are missing"
"$reckon" plot page.json -o page.html
grep -qF '<h1>All &amp; &lt;all&gt;</h1>' page.html || fail "the title of the page"
cat >links.json <<'END'
{"title": "Links", "page": [{"heading": "[a & b](one/README.md)"},
    {"text": "![bars](bars.svg) and [0, 1) and ![x] and [no](javascript:x) and [no](//x) and \"[q](r\"s.svg)\""}]}
END
"$reckon" plot links.json -o links.html
grep -qF '<h2><a href="one/page.html">a &amp; b</a></h2>' links.html || fail "a link of a heading"
grep -qF '<p><img src="bars.svg" alt="bars"/> and [0, 1) and ![x] and [no](javascript:x)' links.html ||
    fail "a picture in a text"
if grep -q 'href="\(javascript\|/\)' links.html; then
    fail "a link that leaves the page"
fi
"$reckon" plot page.json --figure heat | cmp - heat.svg || fail "one figure of a page"

# Another table in place of the document's; compressed; and a database.
echo '{"table": "none.csv", "names": {"a": "model A"}, "figure": {"x": "size", "y": "rate", "by": "model"}}' >figure.json
"$reckon" plot figure.json results.csv | cmp - lines.svg || fail "results of the command line"
gzip -c results.csv >results.csv.gz
"$reckon" plot figure.json results.csv.gz | cmp - lines.svg || fail "compressed results"
if [ "$sqlite" = 1 ]; then
    cat >grid.json <<'END'
{"application": "megatron-126M", "system": "a100_80g", "processors": 4, "datatype": "float16",
 "top": 2, "axes": [{"key": "batch", "values": [1, 4]}]}
END
    echo '{"figure": {"x": "batch", "y": "sample_rate", "by": "fused_activation"}}' >batch.json
    "$reckon" sweep grid.json -o grid.csv --sqlite grid.db
    "$reckon" plot batch.json grid.csv -o csv.svg
    "$reckon" plot batch.json grid.db -o db.svg
    cmp csv.svg db.svg || fail "a database is not drawn like its CSV table"
fi

# refused DOCUMENT WORDS: refused with exit status 2 and one line that has these words.
refused()
{
    printf '%s\n' "$1" >bad.json
    status=0
    "$reckon" plot bad.json >bad.svg 2>said || status=$?
    test "$status" -eq 2 || fail "exit status $status, not 2: $1"
    test "$(wc -l <said)" -eq 1 || fail "not one line for $1"
    grep -qF -- "$2" said || fail "\"$2\" is not in: $(cat said)"
}

data='"table": "results.csv"'
refused "{$data}" "either a page or a figure"
refused "{$data, \"figur\": {}}" "figure"
refused "{\"figure\": {\"y\": \"rate\"}}" "there are no data"
refused "{$data, \"figure\": {\"y\": \"rates\"}}" 'did you mean "rate"'
refused "{$data, \"figure\": {\"y\": \"rate +\"}}" "figure.y"
refused "{$data, \"figure\": {\"y\": \"model\"}}" "is text"
refused "{$data, \"figure\": {\"y\": \"2 * model\"}}" "has a value at no row"
refused "{$data, \"figure\": {\"x\": \"size\"}}" "y is missing"
refused "{$data, \"figure\": {\"y\": {\"value\": \"rate\", \"lgo\": true}}}" '"log"'
refused "{$data, \"figure\": {\"y\": \"rate\", \"name\": \"../x\"}}" "it names a file"
refused "{$data, \"figure\": {\"y\": \"rate\", \"rules\": [{}]}}" "one of slope, x and y"
refused "{$data, \"figure\": {\"kind\": \"heat\", \"x\": \"model\", \"y\": \"model\"}}" "needs x, y and heat"
refused "{$data, \"figure\": {\"kind\": \"heat\", \"x\": \"model\", \"y\": \"model\", \"heat\": \"good\"}}" \
    "same cell"
refused "{$data, \"values\": {\"v\": {\"value\": \"rate\"}}, \"page\": []}" "4 rows"
refused "{$data, \"page\": [{\"text\": \"{nothing}\"}]}" "nothing"
refused "{$data, \"page\": [{\"text\": \"{open\"}]}" "{name}"
refused "{$data, \"page\": [{\"heading\": \"a\", \"text\": \"b\"}]}" "one of heading"
refused "{$data, \"page\": [{\"table\": {\"rows\": \"model\"}}]}" "rows, by and value"
refused "{$data, \"page\": [{\"claims\": [{\"paper\": \"p\", \"here\": \"h\", \"holds\": \"'x'\"}]}]}" \
    "neither true nor false"
refused "{$data, \"page\": [{\"lines\": [[\"a\", \"b\"], [\"c\"]]}]}" "a list of 2 texts"
refused "{$data, \"page\": [{\"lines\": []}]}" "the titles first"
refused "{$data, \"page\": []}" "several figures or none"
beside() { echo "{\"tables\": {\"t\": {\"file\": \"results.csv\", \"beside\": {\"n\": {$1}}}}, \"page\": []}"; }
refused "$(beside '"value": "rate", "where": "size == 1"')" "same"
refused "$(beside '"value": "rate", "where": "size == 1", "same": [1]')" "names of columns"
refused "$(beside '"value": "rate", "where": "size == 1", "same": ["sise"]')" 'did you mean "size"'
refused "$(beside '"value": "rats", "where": "size == 1", "same": ["size"]')" 'did you mean "rate"'
refused '{"table": "absent.csv", "page": []}' "absent.csv"
refused '[1]' "object"
