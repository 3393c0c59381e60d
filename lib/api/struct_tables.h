/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs that programs fill and pass to the typed functions.  Each function copies the struct of a
 * program, whose version may be shorter or longer than ours, and refuses NULL and members out of
 * their bounds, by name.  Structs that a program may leave out (NULL) become all zero.
 */
#ifndef RK_API_STRUCT_TABLES_H
#define RK_API_STRUCT_TABLES_H

#include "base/members.h"
#include "request/request.h"

#include <string.h>

/* Copies a struct to a program, whose version has `size` bytes; returns true, for items found. */
static inline bool rk_abi_copy(void *to, size_t size, const void *from, size_t known)
{
    memcpy(to, from, size < known ? size : known);
    return true;
}

/* Structs that begin as zeros; a program may leave them out. */
rk_status rk_take_choice(const void *given, void *own, size_t size, const char *type,
                         const rk_member *members, size_t count, rk_error *err);

rk_status rk_take_strategy(const rk_strategy *given, rk_strategy *own, rk_error *err);

/* Fills a request from a space. */
rk_status rk_take_space(const rk_space *given, rk_request *request, const char **options,
                        rk_error *err);

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
