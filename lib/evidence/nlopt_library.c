/* SPDX-License-Identifier: Apache-2.0 */
/* Loads NLopt; there is no static one. */
#include "evidence/nlopt_library.h"

#include "base/library.h"

rk_status rk_nlopt_library_open(rk_nlopt *nlopt, rk_error *err)
{
#define SYMBOL(function) {"nlopt_" #function, offsetof(rk_nlopt, function)},
    static const rk_named_count symbols[] = {RK_NLOPT_FUNCTIONS(SYMBOL)};
    return rk_library_open("libnlopt.so.0", "libnlopt0", symbols,
                           sizeof(symbols) / sizeof(symbols[0]), nlopt, err);
}
