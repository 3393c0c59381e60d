#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing; needs neither network nor rights when none is.
#
#     tools/setup.sh [ci|pages]    "ci" adds what tools/check.sh needs, "pages" what `make pages` and its tests need
set -eu

packages="gcc meson ninja-build pkg-config libjansson-dev libcmocka-dev libsqlite3-dev libnlopt-dev
          libyaml-dev zlib1g-dev
          scdoc"
if [ "${1:-}" = ci ]; then
    packages="$packages clang-14 clang-format-14 libclang-rt-14-dev lld-14 pmccabe sqlite3 valgrind
              libopenmpi-dev openmpi-bin doxygen python3-venv python3-pip python3-setuptools python3-wheel python3-jsonschema
              python3-nbconvert python3-ipykernel python3-numpy python3-pandas mypy"
fi

if [ "${1:-}" = pages ]; then
    packages="$packages emscripten chromium"
    command -v npm >/dev/null || packages="$packages nodejs npm"
fi

if ! command -v dpkg-query >/dev/null; then
    # shellcheck disable=SC2086
    echo "setup.sh: this is no Debian; what reckon needs is called there:" $packages >&2
    command -v meson >/dev/null && command -v ninja >/dev/null
    exit
fi

missing=
for package in $packages; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || state=
    if [ "$state" != installed ]; then
        missing="$missing $package"
    fi
done
if [ -z "$missing" ]; then
    exit 0
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "setup.sh: missing packages:$missing; as root: apt-get install$missing" >&2
        exit 1
    fi
    as_root=sudo
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
# shellcheck disable=SC2086
$as_root apt-get install -y -qq --no-install-recommends $missing
