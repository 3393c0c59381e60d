#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One program without shared libraries, optimised as it is linked, answers as the other does, and programs link its
# static library.
#
#     tests/static.sh BUILD     what `make static` builds
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/.."

if ldd "$build/reckon" >/dev/null 2>&1; then
    echo "$build/reckon needs shared libraries" >&2
    exit 1
fi
for case in tests/cli_reckon/golden/{plan,estimate,run,fit,comm}*.golden; do
    (cd tests/cli_reckon && ./golden.sh "$build/reckon" "golden/${case##*/}")
done
root=$build/root
rm -rf "$root"
DESTDIR=$root meson install -C "$build" --no-rebuild --quiet
folder=$(dirname "$(find "$root" -name libreckon.pc)")
# shellcheck disable=SC2046
gcc -static tests/api/header.c -o "$root/program" $(PKG_CONFIG_SYSROOT_DIR=$root \
    PKG_CONFIG_PATH=$folder pkg-config --static --cflags --libs libreckon)
"$root/program"
