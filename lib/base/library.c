/* SPDX-License-Identifier: Apache-2.0 */
/* Opens shared libraries and finds their functions. */
#include "base/library.h"

#include "base/error.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

rk_status rk_library_open(const char *file, const char *package, const rk_named_count *symbols,
                          size_t count, void *table, rk_error *err)
{
    errno = 0;
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library && errno == ENOMEM) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory to open %s", file);
    }
    for (size_t i = 0; library && i < count; i++) {
        void *function = dlsym(library, symbols[i].name);
        if (!function) {
            library = NULL;
            break;
        }
        /* POSIX lets a pointer to an object hold one to a function, ISO C does not. */
        memcpy((char *)table + symbols[i].value, &function, sizeof(function));
    }
    return library ? RK_OK
                   : rk_fail(err, RK_ERR_INVALID, "%s; install the package %s", dlerror(), package);
}
