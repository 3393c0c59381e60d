/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of configuration files in YAML and TOML. */
#ifndef RK_IO_CONFIG_FAULT_H
#define RK_IO_CONFIG_FAULT_H

#include "reckon/reckon.h"

#include <stdarg.h>

/* RK_ERR_SYNTAX at a line and a column, both from 1; the message is made printable. */
rk_status rk_config_fail(rk_error *err, const char *name, int line, int column, const char *format,
                         va_list arguments) RK_PRINTF(5, 0);

rk_status rk_config_fail_memory(rk_error *err, const char *name);

/* Refuses texts above 16 MiB. */
rk_status rk_config_check_size(size_t size, const char *name, rk_error *err);

#endif
