# SPDX-License-Identifier: Apache-2.0
"""The reckon model a second time, written from docs/method: short to read, slow to run.

One module per page: documents, models, strategies, kernels (with measured), collectives, layers,
schedules, steps, memory.  Seconds, bytes and FLOP everywhere.
"""
