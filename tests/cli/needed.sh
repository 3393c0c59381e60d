#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What few commands need is loaded by them: no program links SQLite, NLopt or MPI.
#
#     needed.sh PROGRAM...
needed=$(readelf -d "$@") || exit 77
if [ -z "$needed" ] || echo "$needed" | grep -E 'NEEDED.*lib(sqlite3|nlopt|mpi)'; then
    exit 1
fi
