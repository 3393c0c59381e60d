#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that a change has to pass, on a clean checkout of Debian 12.
#
#     tools/check.sh [SECONDS]     SECONDS for each fuzz target (4)
#
# The last line counts the tests of all runs; a step that fails otherwise counts as one failure.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

fuzz_seconds=${1:-4}
passed=0
failed=0

fail()
{
    failed=$((failed + 1))
    echo "FAILED: $1"
}

# step NAME COMMAND...
step()
{
    echo "== $1"
    "${@:2}" || fail "$1"
}

# A number of the summary that `meson test` ends with.
summary()
{
    sed -nE "s/^$2: +([0-9]+).*/\1/p" "$1" | tail -n 1
}

# suite BUILD COMPILER "SETUP OPTIONS" [TEST OPTIONS...]: builds and tests in a folder of its own, from the sources
# in $source; all with gcc, which tests what is installed too, and else what the tests need.
source=.
suite()
{
    local build=$1 compiler=$2 options=$3 log ok bad=0 word count linker
    [ "$compiler" = gcc ] || linker=lld # links a test with sanitizers in half the time
    echo "== $build: $compiler $options"
    # The options are words without blanks.
    # shellcheck disable=SC2086
    if [ ! -f "$build/build.ninja" ] &&
        ! CC=$compiler CC_LD=${linker:-} meson setup -Dwerror=true $options "$build" "$source"; then
        fail "$build: setup"
        return
    fi
    if [ "$compiler" = gcc ] && ! ninja -C "$build" --quiet; then
        fail "$build: build"
        return
    fi
    log=$(mktemp)
    meson test -C "$build" --print-errorlogs "${@:4}" | tee "$log" |
        grep -vE ' OK +[0-9.]+s'
    ok=$(summary "$log" Ok)
    for word in Fail Timeout "Unexpected Pass"; do
        count=$(summary "$log" "$word")
        bad=$((bad + ${count:-0}))
    done
    rm -f "$log"
    passed=$((passed + ${ok:-0}))
    failed=$((failed + bad))
    if [ "${ok:-0}" -eq 0 ]; then
        fail "$build: no test ran"
    fi
}

format()
{
    git ls-files -z '*.c' '*.h' | xargs -0 clang-format-14 --dry-run -Werror
}

# At most 800 lines a file; 100 lines and a complexity of 25 a function.
sizes()
{
    local files long big
    mapfile -t files < <(git ls-files '*.c' '*.h')
    long=$(wc -l "${files[@]}" | awk '$2 != "total" && $1 > 800')
    big=$(pmccabe "${files[@]}" |
        awk -F'\t' '$1 > 25 || $5 > 100 {print $6, $7 ": complexity " $1 ", " $5 " lines"}') ||
        return 1
    printf '%s' "$long${long:+$'\n'}$big${big:+$'\n'}"
    [ -z "$long$big" ]
}

demo()
{
    build/reckon plan --model seed-1T --system h100-80g-off512g50-nvl8 --processors 4096 \
        --batch 3072 --datatype float8 | grep -F '15,904,064 strategies'
}

# A program outside of the project, from the installed files alone.
installed()
{
    local root=$PWD/build/root libraries flags
    rm -rf "$root"
    DESTDIR=$root meson install -C build --no-rebuild --quiet || return 1
    libraries=$(dirname "$(find "$root" -name libreckon.so)")
    flags=$(PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_PATH=$libraries/pkgconfig \
        pkg-config --cflags --libs libreckon) || return 1
    # shellcheck disable=SC2086
    gcc tests/api/header.c -o "$root/program" $flags &&
        LD_LIBRARY_PATH=$libraries "$root/program" &&
        "$root/usr/local/bin/reckon" version
}

# The release: unpacked beside the build, as its users do.
tarball()
{
    rm -rf build/release
    mkdir build/release &&
        meson dist -C build --no-tests --formats gztar >/dev/null &&
        tar xf build/meson-dist/reckon-*.tar.gz -C build/release --strip-components=1
}

step "packages" tools/setup.sh ci
step "format" format
step "sizes" sizes
suite build gcc "" --no-suite nightly
step "the main job" demo
step "installed files" installed
# gcc's build is asked everything but what `make nightly` asks ("nightly"): hundreds of questions more of what other
# tests ask, and pages that `make nightly` recomputes.  Tests of the sources ("source") run there alone.
# clang builds with sanitizers and assertions.  Runs of several ranks, killed sweeps, the fits of stacks and the long
# comparisons of searches ("slow"), and long tests that ask many questions of the same code ("many"), test nothing
# more there and need minutes; `make nightly` asks the latter with assertions.
# TSan runs the tests that start threads ("threads"): unit tests, golden answers, and commands that search and sweep.
# It finds nothing in a process of one thread.
# A clean checkout is tested as its release; a changed one as it lies.
if [ -z "$(git status --porcelain)" ]; then
    step "release" tarball
    source=build/release
fi
fuzz=false
if echo 'int LLVMFuzzerTestOneInput(void){return 0;}' |
    clang-14 -fsanitize=fuzzer -x c - -o /dev/null 2>/dev/null; then
    fuzz=true
fi
# gcc's build asks all random inputs and wrong documents; with sanitizers a third of them is asked.
RK_TEST_SCALE=0.3 suite build-asan clang-14 "-Db_sanitize=address,undefined -Db_lundef=false -Db_pie=false -Dc_link_args=-no-pie --buildtype=debugoptimized -Dfuzz=$fuzz" -t 5 --no-suite slow --no-suite many --no-suite source
if $fuzz; then
    step "fuzz targets, $fuzz_seconds s each" fuzz/run.sh "$fuzz_seconds" "$PWD/build-asan"
else
    echo "== no libFuzzer: fuzz targets left out"
fi
source=.
suite build-tsan clang-14 "-Dmpi=disabled -Db_sanitize=thread -Db_lundef=false --buildtype=debugoptimized" -t 5 --suite threads --no-suite slow --no-suite mpi --no-suite many

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
