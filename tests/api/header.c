/* SPDX-License-Identifier: Apache-2.0 */
/* A program that includes the public header alone, built with the installed library. */
#include <reckon/reckon.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    rk_calculon_app app;
    rk_error err;
    if (rk_calculon_app_load("gpt3-175B", false, &app, &err)) {
        return 1;
    }
    char version[16];
    (void)snprintf(version, sizeof(version), "%d.%d.%d", RK_VERSION_NUMBER / 10000,
                   RK_VERSION_NUMBER / 100 % 100, RK_VERSION_NUMBER % 100);
    return strcmp(version, RK_VERSION) == 0 && strcmp(version, rk_version()) == 0 &&
                   app.num_blocks == 96
               ? 0
               : 1;
}
