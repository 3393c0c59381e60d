/* SPDX-License-Identifier: Apache-2.0 */
#include <reckon/reckon.h>

int main(void)
{
    rk_calculon_app app;
    rk_error err;
    if (rk_calculon_app_load("gpt3-175B", false, &app, &err)) {
        return 1;
    }
    return rk_version()[0] != '\0' && app.num_blocks == 96 ? 0 : 1;
}
