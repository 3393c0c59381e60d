/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the gallery as files NAME.svg and all.html, to be looked at: gallery FOLDER */
#include "gallery.h"

#include "figures/page.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    rk_error err = {.message = ""};
    rk_out *page, *out;
    char path[512];
    if (argc != 2 || snprintf(path, sizeof(path), "%s/all.html", argv[1]) >= (int)sizeof(path) ||
        rk_out_open(path, &page, &err)) {
        (void)fprintf(stderr, "usage: gallery FOLDER %s\n", err.message);
        return 2;
    }
    rk_page_open("Gallery", page);
    for (size_t i = 0; i < gallery_count; i++) {
        (void)snprintf(path, sizeof(path), "%.400s/%s.svg", argv[1], gallery[i].name);
        if (rk_out_open(path, &out, &err) || rk_plot_svg(&gallery[i].figure, false, out, &err) ||
            rk_out_close(out, &err) ||
            rk_page_figure(&gallery[i].figure, gallery[i].name, page, &err)) {
            (void)fprintf(stderr, "%s: %s\n", gallery[i].name, err.message);
            return 1;
        }
    }
    rk_page_close(page);
    return rk_out_close(page, &err) ? 1 : 0;
}
