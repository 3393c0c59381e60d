#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rewrites the tables of docs/published-runs.md from data/runs/published.csv.
#
#     tools/published-runs.sh [RECKON [PAGE]]     PAGE: where to write; default: docs/published-runs.md
set -eu

cd "$(dirname "$0")/.."
reckon=${1:-build/reckon}
page=docs/published-runs.md
mark='<!-- What follows is made by tools/published-runs.sh. -->'
new=$(mktemp)
trap 'rm -f "$new"' EXIT
awk -v mark="$mark" '{print} $0 == mark {exit}' "$page" >"$new"
echo >>"$new"
"$reckon" validate --runs published --whole >>"$new"
cat "$new" >"${2:-$page}"
