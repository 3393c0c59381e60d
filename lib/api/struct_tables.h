/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs that programs fill and pass to the typed functions.  Each function copies the struct of a
 * program, whose version may be shorter or longer than ours, and refuses NULL and members out of
 * their bounds, by name.  Structs that a program may leave out (NULL) become all zero.
 */
#ifndef RK_API_STRUCT_TABLES_H
#define RK_API_STRUCT_TABLES_H

#include "reckon/reckon.h"

/* Structs with bounds of members that begin as zeros, and whether a program may leave them out. */
#define RK_TAKEN_STRUCTS(TAKEN)                                                                    \
    TAKEN(setup_choice, true)                                                                      \
    TAKEN(space, false)                                                                            \
    TAKEN(machine_target, false)                                                                   \
    TAKEN(shape_choice, true)                                                                      \
    TAKEN(calibration_choice, true)                                                                \
    TAKEN(sweep_control, true)

#define RK_TAKE(name, optional)                                                                    \
    rk_status rk_take_##name(const rk_##name *given, rk_##name *own, rk_error *err);
RK_TAKEN_STRUCTS(RK_TAKE)
RK_TAKE(strategy, false)
RK_TAKE(run_request, false)
RK_TAKE(validation_choice, true)

/* Refuses a handle or a text that is NULL; `what` names it in the message: "setup". */
rk_status rk_need(const void *given, const char *what, rk_error *err);

/*
 * Memory of zeros for `what`; NULL after an earlier failure, and with RK_ERR_MEMORY in *status
 * where there is none.
 */
void *rk_allocate(size_t size, const char *what, rk_status *status, rk_error *err);

/* Ends the creation of a handle: frees it after a failure.  The status. */
#define RK_CREATED(status, handle, free_handle)                                                    \
    ((status) ? (free_handle(*(handle)), *(handle) = NULL, (status)) : RK_OK)

/* Defines the function that frees a handle, which may be NULL, with what `clear` releases. */
#define RK_DEFINE_FREE(name, clear)                                                                \
    void name##_free(name *handle)                                                                 \
    {                                                                                              \
        if (handle) {                                                                              \
            clear(handle);                                                                         \
            free(handle);                                                                          \
        }                                                                                          \
    }

#endif
