#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the API reference, and fails with what is not documented.
#
#     build.sh ROOT OUTPUT VERSION
set -eu

root=$1
output=$2
version=$3
mkdir -p "$output"
sed -e "s|@root@|$root|g" -e "s|@output@|$output|g" -e "s|@version@|$version|g" \
    -e "s|@filter@|$root/docs/api/filter.py|g" "$root/docs/api/Doxyfile.in" >"$output/Doxyfile"
doxygen "$output/Doxyfile"
test -s "$output/html/index.html"
