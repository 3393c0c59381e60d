#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the explorer if it has been built: install.sh PAGE PATH
set -eu
if [ -f "$1" ]; then
    install -D -m 644 "$1" "${DESTDIR:-}$2"
fi
