/* SPDX-License-Identifier: Apache-2.0 */
/* The input as a file, for readers that take nothing else. */
#ifndef RK_FUZZ_INPUT_FILE_H
#define RK_FUZZ_INPUT_FILE_H

#include "target.h"

#include <unistd.h>

/* Writes the input to a file of this process that ends in `suffix`.  Returns its path. */
static inline const char *write_input(const uint8_t *data, size_t size, const char *suffix)
{
    static char path[64];
    (void)snprintf(path, sizeof(path), "/tmp/reckon-fuzz-%ld%s", (long)getpid(), suffix);
    FILE *file = fopen(path, "wb");
    REQUIRE(file && fwrite(data, 1, size, file) == size);
    REQUIRE(fclose(file) == 0);
    return path;
}

#endif
