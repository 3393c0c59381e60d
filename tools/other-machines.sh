#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds reckon for machines of another kind and runs its tests there, under emulation:
#
#     tools/other-machines.sh [i386] [s390x]     32-bit words; big-endian bytes; default: both
#
# Needs Debian with a cross compiler and an emulator, which conflict with nothing:
#
#     apt-get install --no-install-recommends gcc-i686-linux-gnu gcc-s390x-linux-gnu qemu-user-static
#
# The libraries of the other machine are downloaded and unpacked below build-MACHINE/root, so the
# packages of this one stay as they are.  TESTS names the tests to run; without it, all but slow ones
# and MPI.  Exit status: 0 all passed, 1 a test failed, 2 this machine cannot (the line before says
# why).
set -uo pipefail
cd "$(dirname "$0")/.." || exit

libraries="libc6 libc6-dev linux-libc-dev libjansson4 libjansson-dev libyaml-0-2 libyaml-dev zlib1g
    zlib1g-dev libsqlite3-0 libsqlite3-dev libnlopt0 libnlopt-dev libcmocka0 libcmocka-dev libgcc-s1 libstdc++6"

stop()
{
    echo "other-machines.sh: $*" >&2
    exit 2
}

# fetch MACHINE ROOT: unpacks the libraries of a machine, with lists of packages of its own.
fetch()
{
    local machine=$1 root=$2 lists=$PWD/$2.apt package
    [ -f "$root/complete" ] && return
    mkdir -p "$root" "$lists"/{lists/partial,cache/archives/partial,debs} || return
    : >"$lists/status"
    local options=(-o "APT::Architecture=$machine" -o "APT::Architectures=$machine"
        -o "Dir::State::Lists=$lists/lists" -o "Dir::State::status=$lists/status"
        -o "Dir::Cache=$lists/cache" -o APT::Sandbox::User=root)
    # A mirror that is being updated may lack one of the lists; then the others do.
    apt-get "${options[@]}" -qq update
    # shellcheck disable=SC2086 # a list of names
    (cd "$lists/debs" && apt-get "${options[@]}" -qq download $libraries) || return
    for package in "$lists"/debs/*.deb; do
        dpkg -x "$package" "$root" || return
    done
    # Absolute links would leave the root.
    find "$root" -type l -lname '/*' | while read -r link; do
        ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$root$(readlink "$link")")" "$link"
    done
    touch "$root/complete"
}

# cross MACHINE TRIPLET FAMILY ENDIAN EMULATOR ROOT FLAGS: the cross file of Meson.
cross()
{
    local flags="'--sysroot=$6', '-isystem', '$6/usr/include/$7', '-isystem', '$6/usr/include'"
    local link="'-L$6/usr/lib/$7', '-L$6/lib/$7', '-Wl,-rpath-link,$6/usr/lib/$7:$6/lib/$7'"
    cat <<END
[binaries]
c = '$2-gcc'
cpp = '$2-g++'
ar = '$2-ar'
strip = '$2-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['$5', '-L', '$6']
[properties]
needs_exe_wrapper = true
pkg_config_libdir = '$6/usr/lib/$7/pkgconfig:$6/usr/share/pkgconfig'
sys_root = '$6'
[built-in options]
c_args = [$flags]
c_link_args = ['--sysroot=$6', '-B$6/usr/lib/$7', $link]
[host_machine]
system = 'linux'
cpu_family = '$3'
cpu = '$3'
endian = '$4'
END
}

# wrap PROGRAM EMULATOR ROOT: puts a script in its place that runs it, for tests that are scripts.
wrap()
{
    [ "$(head -c 2 "$1")" = '#!' ] && return
    mv "$1" "$1.bin" && printf '#!/bin/sh\nexec %s -L %s %s.bin "$@"\n' "$2" "$3" "$PWD/$1" >"$1" &&
        chmod +x "$1"
}

# check MACHINE TRIPLET FAMILY ENDIAN EMULATOR LIBRARY_FOLDER
check()
{
    local tests
    read -ra tests <<<"${TESTS:-}"
    local build=build-$1 root=$PWD/build-$1.root
    command -v "$2-gcc" >/dev/null || stop "no $2-gcc: apt-get install gcc-$2"
    command -v "$5" >/dev/null || stop "no $5: apt-get install qemu-user-static"
    fetch "$1" "build-$1.root" || stop "cannot fetch the libraries of $1"
    cross "$1" "$2" "$3" "$4" "$5" "$root" "$6" >"$root.apt/cross"
    [ -f "$build/build.ninja" ] ||
        meson setup --cross-file "$root.apt/cross" -Dmpi=disabled "$build" >"$root.apt/log" ||
        { tail -20 "$root.apt/log"; stop "cannot set up $build"; }
    ninja -C "$build" --quiet || return
    wrap "$build/reckon" "$5" "$root" || return
    wrap "$build/tests/cli_calculon/compare_json" "$5" "$root" || return
    # Emulation costs a factor of 10 to 20: fewer random questions, and more time for each test.
    RK_TEST_SCALE=${RK_TEST_SCALE:-0.1} meson test -C "$build" --no-rebuild -t 20 --no-suite slow --no-suite reference --no-suite mpi \
        "${tests[@]}" --print-errorlogs
}

status=0
[ $# -gt 0 ] || set -- i386 s390x
for machine; do
    case $machine in
        i386) check i386 i686-linux-gnu x86 little qemu-i386-static i386-linux-gnu || status=1 ;;
        s390x) check s390x s390x-linux-gnu s390x big qemu-s390x-static s390x-linux-gnu || status=1 ;;
        *) stop "unknown machine '$machine': i386 or s390x" ;;
    esac
done
exit "$status"
