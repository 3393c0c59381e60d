/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the file URL of the installed explorer page. */
#include "explore.h"

#include "arguments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The page is one file that needs no server, so its address is all that a browser needs. */
static void write_address(const char *path)
{
    (void)fputs("file://", stdout);
    for (const char *c = path; *c; c++) {
        (void)printf(strchr(" \"#%<>?\\^`{|}", *c) ? "%%%02X" : "%c", (unsigned char)*c);
    }
    (void)putchar('\n');
}

int rk_run_explore(int argc, char **argv)
{
    const char *own = getenv("RECKON_EXPLORER"), *path = own && *own ? own : RK_EXPLORER;
    if (argc > 1 && (strncmp(argv[1], "--help", 6) == 0 || strcmp(argv[1], "-h") == 0)) {
        (void)printf("usage: reckon explore\n\n"
                     "Print the address of the explorer, a page that plans in the browser.\n"
                     "It needs no network and uploads nothing.\n\n"
                     "example: xdg-open \"$(reckon explore)\"\n");
        return RK_EXIT_DONE;
    }
    if (argc > 1) {
        (void)fprintf(stderr, "reckon explore: unexpected argument '%s'\n", argv[1]);
        return RK_EXIT_USAGE;
    }
    if (access(path, R_OK) != 0) {
        (void)fprintf(
            stderr,
            "reckon explore: %s: %s; run 'make pages install' to build and install it, or "
            "set RECKON_EXPLORER to its path\n",
            path, strerror(errno));
        return RK_EXIT_USAGE;
    }
    write_address(path);
    return RK_EXIT_DONE;
}
