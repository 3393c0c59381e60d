#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The extension drill: adds one of each kind to a copy of the tree, by the how-tos alone, builds it and runs the
# fast tests, all of which have to pass.
#
#     drill.sh FOLDER [ADDITION...]     in a copy in FOLDER, which is replaced; default: all additions together
#     drill.sh --check                  only whether the additions apply and the how-tos name what they change
#
# additions/NAME.patch is what a person writes who follows the how-to of NAME; the twenty collective algorithms are
# copies of one.  Files of the tree that an addition changes, and the lists that are generated again for it, must be
# named in its how-to.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
all="mixer feed-forward schedule framework collective accelerator model-type command"
failed=0

fail()
{
    echo "drill: $1"
    failed=1
}

# Lists of all entries of a kind, which the tests compare, so that a new entry changes them.
lists_of()
{
    case $1 in
    mixer | feed-forward) echo tests/cli_reckon/documents.txt ;;
    schedule)
        echo tests/cli/golden/plan-help-all.golden tests/cli_reckon/commands.txt tests/api/layout.txt \
            python/reckon/__init__.pyi
        ;;
    framework)
        echo tests/cli/golden/plan-help-all.golden tests/cli_reckon/{commands,documents}.txt \
            tests/cli_reckon/wrong.golden tests/cli_reckon/golden/plan-illegal-json.golden python/reckon/__init__.pyi
        ;;
    collective)
        echo tests/cli_reckon/golden/comm-{algorithm,placement}.golden tests/cli_reckon/commands.txt \
            python/reckon/__init__.pyi
        ;;
    command) echo tests/cli/golden/{help,no-command}.golden python/reckon/__init__.pyi ;;
    esac
}

# Whether the how-to of an addition names a file.
names()
{
    local page=$root/docs/howto/$1.md short
    [ "$1" = model-type ] && page=$root/docs/howto/importer.md
    short=$(basename "$2")
    [ "$short" = meson.build ] && short=$2
    grep -qF -e "$2" -e "$short" "$page"
}

check_howto()
{
    local file
    for file in $(sed -n 's|^+++ b/||p' "$here/additions/$1.patch" 2>/dev/null) $(lists_of "$1"); do
        if [ -f "$root/$file" ] && ! names "$1" "$file"; then
            fail "$1: its how-to does not name $file"
        fi
    done
}

# Twenty algorithms: copies of pat.c under other names.
add_collective()
{
    local name
    for name in drill{01..20}; do
        sed "s/rk_algorithm_pat/rk_algorithm_$name/; s/\.name = \"pat\"/.name = \"$name\"/" lib/collective/pat.c \
            >"lib/collective/$name.c"
        sed -i "s/^    X(in_network)/    X($name) \\\\\n&/" lib/collective/algorithm.h
        sed -i "s/^  'pat.c',/  '$name.c',\n&/" lib/collective/meson.build
    done
}

# A question that needs the addition.
question()
{
    case $1 in
    mixer) echo estimate tests/layer/retention.json 8xh100 --global-batch 64 ;;
    feed-forward) echo estimate tests/layer/twice.json 8xh100 --global-batch 64 ;;
    schedule) echo estimate llama3-8b 8xh100 --pp 4 --schedule eager --framework any --global-batch 64 ;;
    framework) echo estimate llama3-8b 8xh100 --framework drillwork --global-batch 64 ;;
    collective) echo comm 8xh100 --op all_gather --algorithm drill20 ;;
    accelerator) echo estimate llama3-8b 64xdrill-pod --global-batch 64 ;;
    model-type) echo show tests/model/hf/drilled-350m.json ;;
    command) echo count llama3-8b ;;
    esac
}

# Generates a list again, as the how-tos say.
renew()
{
    case $1 in
    */wrong.golden) tests/cli_reckon/wrong.sh build/reckon --renew ;;
    tests/cli_reckon/*.txt) tests/cli_reckon/documents.py build/tests/reckon_with_codes "$1" --renew ;;
    *.golden) "$(dirname "$(dirname "$1")")/golden.sh" build/reckon "$1" --update ;;
    tests/api/layout.txt) tests/api/layout.py --record include gcc ;;
    *.pyi) RECKON_LIBRARY=build/lib/libreckon.so tools/python_stub.py ;;
    esac
}

for name in $all; do
    check_howto "$name"
    if [ "$name" != collective ] &&
        ! patch -p1 -s -d "$root" --dry-run <"$here/additions/$name.patch"; then
        fail "$name: the patch does not apply"
    fi
done
[ "${1:-}" = --check ] && exit $failed

folder=$1
shift
[ $# -gt 0 ] || eval "set -- $all"
rm -rf "$folder"
mkdir -p "$folder"
git -C "$root" ls-files -z | tar -C "$root" -c --null -T - | tar -C "$folder" -x
cd "$folder"
sed -i "/subdir('drill')/d" tests/meson.build # additions apply once
for name; do
    if [ "$name" = collective ]; then
        add_collective
    else
        patch -p1 -s --no-backup-if-mismatch <"$here/additions/$name.patch"
    fi
done
meson setup --buildtype=debugoptimized -Dwerror=true build >/dev/null
ninja -C build --quiet
for name; do
    # shellcheck disable=SC2046
    build/reckon $(question "$name") >/dev/null || fail "$name: no answer to reckon $(question "$name")"
    for file in $(lists_of "$name"); do
        renew "$file" >/dev/null
    done
done

# Recorded answers of other questions list the additions too, and count their strategies; nothing else may move.
python3 tests/record/record.py build --most 100000 >record.log || true
grep -E '^by figure:.*(step|seconds|memory|bytes)' record.log && fail "figures of other questions move"
for list in record answers models; do
    ninja -C build "renew-$list" >renew.log || fail "$list: no recorded answers"
done
meson test -C build --no-suite slow --print-errorlogs >drill.log || fail "fast tests fail"
grep -vE ' OK +[0-9.]+s' drill.log
exit $failed
