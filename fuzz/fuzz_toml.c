/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as TOML. */
#include "io/toml_in.h"

#include "config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_config(rk_toml_parse, data, size);
}
