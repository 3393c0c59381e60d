#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The package in a fresh environment, with what Debian has: installed by pip without a network,
# then the jobs, and the notebooks of examples/.  Skipped where pip or venv is missing.
#
#     install.sh ROOT RECKON LIBRARY
set -eu

root=$1
reckon=$2
RECKON_LIBRARY=$3
export RECKON_LIBRARY
python=/usr/bin/python3
"$python" -c 'import venv, ensurepip, setuptools' 2>/dev/null || exit 77
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$python" -m venv --system-site-packages "$scratch/environment"
cp -r "$root/python" "$scratch/package" # pip leaves build folders behind
"$scratch/environment/bin/pip" install --quiet --no-index --no-build-isolation "$scratch/package"
cd "$scratch"
"$scratch/environment/bin/python" -c 'import reckon; assert "environment" in reckon.__file__'
"$scratch/environment/bin/python" "$root/tests/python/jobs.py" "$reckon"
if "$scratch/environment/bin/python" -c 'import nbconvert, ipykernel' 2>/dev/null; then
    "$scratch/environment/bin/python" -m ipykernel install --prefix "$scratch/environment" \
        --name python3 >/dev/null
    JUPYTER_PATH=$scratch/environment/share/jupyter \
        "$scratch/environment/bin/python" -m nbconvert --to notebook --execute \
        --output-dir "$scratch" "$root"/examples/*.ipynb
else
    cp "$root"/examples/*.ipynb "$scratch"
fi
"$scratch/environment/bin/python" "$root/tests/python/notebook.py" "$scratch"/*.ipynb
