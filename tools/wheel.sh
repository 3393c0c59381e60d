#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a wheel of the Python package that holds the library and what it links, for machines that
# have neither.
#
#     tools/wheel.sh FOLDER [LIBRARY]     the wheel goes to FOLDER; LIBRARY: built already
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mkdir -p "$1" && cd "$1" && pwd)
python=/usr/bin/python3
library=${2:-}
if [ -z "$library" ]; then
    # The library looks for the others in its own folder.
    if [ ! -f "$folder/build/build.ninja" ]; then
        # shellcheck disable=SC2016
        meson setup -Dmpi=disabled -Dlto=true -Dc_link_args='-Wl,-rpath,$ORIGIN' "$folder/build" >/dev/null
    fi
    version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build | head -n 1)
    ninja -C "$folder/build" --quiet "lib/libreckon.so.$version"
    library=$folder/build/lib/libreckon.so.$version
fi

rm -rf "$folder/package"
cp -r python "$folder/package"
cp "$library" "$folder/package/reckon/libreckon.so"
# SQLite and NLopt are loaded when they are used, so the library does not name them.
loaded=$(/sbin/ldconfig -p | awk '/lib(sqlite3|nlopt)\.so\.0 / && !seen[$1]++ {print $NF}')
# shellcheck disable=SC2086
{ echo "$loaded"; ldd "$library" $loaded | awk '$3 ~ /lib(jansson|yaml|z|stdc\+\+|gcc_s)[-.]/ {print $3}'; } |
    sort -u | while read -r needed; do
        cp -L "$needed" "$folder/package/reckon/"
    done
strip --strip-unneeded "$folder/package/reckon/libreckon.so"

# The wheel is as old as the C library that its parts were linked with.
glibc=$(getconf GNU_LIBC_VERSION | awk '{print $2}')
"$python" -m pip wheel --quiet --no-index --no-deps --no-build-isolation --wheel-dir "$folder" \
    --config-settings="--build-option=--plat-name=manylinux_${glibc/./_}_$(uname -m)" "$folder/package"
ls "$folder"/*.whl
