/* SPDX-License-Identifier: Apache-2.0 */
/* Syntax errors with line and column, and the size limit, of YAML and TOML files. */
#include "io/config_fault.h"

#include "base/error.h"
#include "io/json.h"

#include <stdio.h>

enum { TEXT_MAX = 16 << 20 };

rk_status rk_config_fail(rk_error *err, const char *name, int line, int column, const char *format,
                         va_list arguments)
{
    char message[256], shown[256];
    (void)vsnprintf(message, sizeof(message), format, arguments);
    const rk_status status =
        rk_fail(err, RK_ERR_SYNTAX, "%s", rk_json_printable(message, shown, sizeof(shown)));
    rk_error_set_file(err, name);
    if (err) {
        err->line = line;
        err->column = column;
    }
    return status;
}

rk_status rk_config_fail_memory(rk_error *err, const char *name)
{
    const rk_status status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for the document");
    rk_error_set_file(err, name);
    return status;
}

rk_status rk_config_check_size(size_t size, const char *name, rk_error *err)
{
    if (size <= TEXT_MAX) {
        return RK_OK;
    }
    const rk_status status =
        rk_fail(err, RK_ERR_INVALID, "longer than 16 MiB, which no configuration is");
    rk_error_set_file(err, name);
    return status;
}
