#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A wheel with the library inside, in an empty environment where nothing else names the library.
#
#     wheel.sh ROOT LIBRARY
set -eu

root=$1
library=$2
/usr/bin/python3 -c 'import venv, ensurepip, setuptools, wheel' 2>/dev/null || exit 77
unset RECKON_LIBRARY PYTHONPATH
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$root/tools/wheel.sh" "$scratch" "$library"
/usr/bin/python3 -m venv "$scratch/environment"
"$scratch/environment/bin/pip" install --quiet --no-index "$scratch"/reckon-*.whl
cd "$scratch"
env -i "$scratch/environment/bin/python" -c '
import reckon
plan = reckon.plan("llama3-8b", "8xh100", global_batch=64)
assert plan.best.estimate.fits
assert "environment" in reckon._library.library._name, reckon._library.library._name
'
