/* SPDX-License-Identifier: Apache-2.0 */
#include "report/launch.h"

/* Names come from documents, and may hold anything. */
void rk_launch_comment(rk_out *out, const char *words)
{
    rk_out_text(out, "# ");
    for (const char *c = words; *c; c++) {
        rk_out_printf(out, "%c", (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c);
    }
    rk_out_text(out, "\n");
}

void rk_launch_note(rk_out *out, const char *kind, const char *words)
{
    rk_out_printf(out, "# Not said by %s: %s.\n", kind, words);
}
