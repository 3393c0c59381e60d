#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages from the committed tree, checks them with lintian, and installs and tests
# them in a clean Debian made by debootstrap.
#
#     tools/package.sh FOLDER [--no-chroot]     the packages go to FOLDER
#
# Needs root for the clean Debian; installs what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mkdir -p "$1" && cd "$1" && pwd)
chroot=${2:-}
mirror=http://deb.debian.org/debian
# Debian's tools look for Debian's Python.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

packages="build-essential debhelper dh-python fakeroot lintian pybuild-plugin-pyproject python3-all
          python3-setuptools"
if [ "$chroot" != --no-chroot ]; then
    packages="$packages autopkgtest debootstrap"
fi
# shellcheck disable=SC2086
dpkg-query -W -f '' $packages 2>/dev/null ||
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null

rm -rf "$folder/source"
mkdir "$folder/source"
git archive HEAD | tar x -C "$folder/source"
(cd "$folder/source" && DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-nocheck}" \
    dpkg-buildpackage -us -uc >"$folder/build.log" 2>&1) || {
    tail -n 30 "$folder/build.log"
    exit 1
}
lintian --fail-on error,warning --allow-root "$folder"/reckon_*.changes
if [ "$chroot" = --no-chroot ]; then
    exit
fi

clean=$folder/clean
rm -rf "$clean"
debootstrap --variant=minbase bookworm "$clean" "$mirror" >"$folder/debootstrap.log"
autopkgtest "$folder"/*.deb "$folder"/reckon_*.dsc -- chroot "$clean"
