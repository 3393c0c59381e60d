/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libreckon: what a large-language-model training run will cost.
 *
 * This header includes all others:
 *
 *     base.h      status, error, version
 *     document.h  models, systems and stacks: handles made from a name, a file or a JSON text
 *     strategy.h  how a run is laid out on a system
 *     predict.h   predict a strategy, plan, fit; operators; collectives; launch files
 *     run.h       whole runs: days, interruptions, cost, energy
 *     timeline.h  the timeline of one step
 *     codesign.h  what numbers of a machine are worth, cheapest machines, shapes of models
 *     sweep.h     a search or an estimate at every point of a grid
 *     evidence.h  measured runs: validation and calibration
 *     command.h   every command of `reckon` as a job: options or a JSON request in, an answer out
 *     calculon.h  the Calculon methodology
 *     search.h    what searches have in common
 *     team.h      processes that share a search
 *
 * Where to begin: predict.h for a program that computes with strategies and predictions, command.h
 * (rk_answer_request) for one that handles JSON.  Both give the same figures, because they are the
 * same code.
 *
 * The library prints nothing, keeps no global state and never exits.  Every function that can fail
 * returns an rk_status and fills the rk_error it was given.  "It does not fit" is a result, not an
 * error.
 *
 * Units: seconds, bytes, FLOP, bytes/s and FLOP/s.
 * Thread safety: every function may run in any number of threads as long as no two write to the
 * same object.  Handles are written by the functions that create and free them, and by no others:
 * share them.
 * Structs grow: fields are added at their ends.  A struct that the library reads says how large the
 * program's is in its first member, `size`; of one that it fills, the size is an argument.
 * Memory: a failed allocation is RK_ERR_MEMORY, never another answer.  JSON is read by jansson,
 * whose allocator belongs to the process: the first document that is read wraps the functions in
 * place then (json_set_alloc_funcs), so set your own before that.
 */
#ifndef RECKON_RECKON_H
#define RECKON_RECKON_H

#include "reckon/base.h"
#include "reckon/calculon.h"
#include "reckon/codesign.h"
#include "reckon/command.h"
#include "reckon/document.h"
#include "reckon/evidence.h"
#include "reckon/predict.h"
#include "reckon/run.h"
#include "reckon/search.h"
#include "reckon/strategy.h"
#include "reckon/sweep.h"
#include "reckon/team.h"
#include "reckon/timeline.h"

#endif
