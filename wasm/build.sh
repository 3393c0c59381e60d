#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the library for WebAssembly: reckon.js and reckon.wasm in the folder BUILD.
#
#     wasm/build.sh BUILD [OPTIMIZATION]     as of meson's -Doptimization; default: 2
#
# Needs Debian's emscripten (tools/setup.sh pages).  jansson, libyaml and zlib are compiled from
# Debian's sources, which are fetched once, below BUILD.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
build=$(cd "$1" && pwd)
optimization=${2:-2}
root=$build/root
export NODE_PATH="/usr/share/nodejs${NODE_PATH:+:$NODE_PATH}" # where Debian keeps acorn, which emcc needs

# Fetches sources with lists of packages of its own, so that those of the machine stay as they are.
fetch()
{
    lists=$build/apt
    mkdir -p "$lists/lists/partial" "$lists/cache/archives/partial" "$build/src"
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb-src [signed-by=$keys] http://deb.debian.org/debian bookworm main" >"$lists/sources.list"
    set -- -qq -o "Dir::Etc::SourceList=$lists/sources.list" -o Dir::Etc::SourceParts=- \
        -o "Dir::State::Lists=$lists/lists" -o "Dir::Cache=$lists/cache" -o APT::Sandbox::User=root
    apt-get "$@" update
    (cd "$build/src" && apt-get "$@" source --download-only jansson libyaml zlib)
    for archive in "$build"/src/*.orig.tar.*; do
        tar xf "$archive" -C "$build/src"
    done
    touch "$build/src/complete"
}

# library NAME PKG VERSION FOLDER FLAGS: compiles all of FOLDER/*.c to libNAME.a.
library()
{
    (cd "$4" && mkdir -p o && for file in *.c; do
        # shellcheck disable=SC2086 # flags without blanks
        emcc -O2 $5 -I. -c "$file" -o "o/${file%.c}.o" || exit
    done && emar rc "$root/lib/lib$1.a" o/*.o)
    cat >"$root/lib/pkgconfig/$2.pc" <<END
Name: $2
Description: $1 for WebAssembly
Version: $3
Libs: -L$root/lib -l$1
Cflags: -I$root/include
END
}

libraries()
{
    rm -rf "$root"
    mkdir -p "$root/lib/pkgconfig" "$root/include"
    if [ ! -e "$build/src/complete" ]; then
        fetch
    fi
    json=$(echo "$build"/src/jansson-*) yaml=$(echo "$build"/src/libyaml-*) z=$(echo "$build"/src/zlib-*)
    cat >"$json/src/jansson_config.h" <<END
#define JSON_INLINE inline
#define JSON_INTEGER_IS_LONG_LONG 1
#define JSON_HAVE_LOCALECONV 0
#define JSON_HAVE_ATOMIC_BUILTINS 1
#define JSON_HAVE_SYNC_BUILTINS 1
#define JSON_PARSER_MAX_DEPTH 2048
END
    printf '#define HAVE_%s 1\n' STDINT_H UNISTD_H SYS_TIME_H >"$json/src/jansson_private_config.h"
    cp "$json"/src/jansson.h "$json"/src/jansson_config.h "$yaml"/include/yaml.h \
        "$z"/zlib.h "$z"/zconf.h "$root/include"
    library jansson jansson "${json##*-}" "$json/src" -DHAVE_CONFIG_H
    library yaml yaml-0.1 "${yaml##*-}" "$yaml/src" "-I../include -DYAML_VERSION_MAJOR=0
        -DYAML_VERSION_MINOR=2 -DYAML_VERSION_PATCH=5 -DYAML_VERSION_STRING=\"0.2.5\""
    library z zlib "${z##*-}" "$z" -DHAVE_UNISTD_H
    touch "$root/complete"
}

cross()
{
    cat <<END
[binaries]
c = 'emcc'
ar = 'emar'
strip = 'emstrip'
pkgconfig = 'pkg-config'
[properties]
needs_exe_wrapper = true
pkg_config_libdir = '$root/lib/pkgconfig'
[built-in options]
c_std = 'none'
c_args = ['-std=c17', '-fno-stack-protector'] # Meson 1.0 takes emcc's version for clang's
[host_machine]
system = 'emscripten'
cpu_family = 'wasm32'
cpu = 'wasm32'
endian = 'little'
END
}

if ! command -v emcc >/dev/null; then
    echo "wasm/build.sh: emscripten is missing: tools/setup.sh pages" >&2
    exit 1
fi
if [ ! -e "$root/complete" ]; then
    libraries
fi
[ -e "$build/cross.txt" ] || cross >"$build/cross.txt"
[ -f "$build/meson/build.ninja" ] || meson setup --cross-file "$build/cross.txt" \
    -Dstatic=true -Dsqlite=disabled -Dnlopt=disabled -Dmpi=disabled "$build/meson"
meson configure -Dbuildtype=plain -Doptimization="$optimization" \
    -Dc_link_args="-O$optimization" "$build/meson"
ninja -C "$build/meson" wasm/reckon.js
cp "$build/meson/wasm/reckon.js" "$build/meson/wasm/reckon.wasm" "$build"
