/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the document of figures and pages: what can be built can be written. */
#include "figures/studies.h"

#include <string.h>
#include <unistd.h>

#include "target.h"

static char table[] = "/tmp/fuzz_study-XXXXXX";

static void remove_table(void)
{
    (void)unlink(table);
}

/* The path of a table of results that lasts as long as the program. */
static const char *results(void)
{
    static const char text[] = "point,model,size,good,rank,rate,flag\n"
                               "0,a,1,7,0,10.5,true\n0,a,1,7,1,9,true\n1,a,2,8,0,20,false\n"
                               "2,b,1,9,0,-3e300,true\n3,b,2,0,,,\n";
    static bool made;
    if (!made) {
        const int file = mkstemp(table);
        REQUIRE(file >= 0);
        REQUIRE(write(file, text, sizeof(text) - 1) == (ssize_t)sizeof(text) - 1);
        (void)close(file);
        REQUIRE(atexit(remove_table) == 0);
        made = true;
    }
    return table;
}

/* Endless files are no test. */
static bool names_device(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 4 <= size; i++) {
        if (memcmp(data + i, "/dev", 4) == 0 || memcmp(data + i, "/pro", 4) == 0) {
            return true;
        }
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rk_study study;
    rk_error err;
    rk_out *out;
    if (names_device(data, size)) {
        return 0;
    }
    const rk_status status =
        rk_study_parse((const char *)data, size, "input", results(), &study, &err);
    if (status) {
        REQUIRE(!study.items && !study.doc.root);
        require_sound_error(&err, status);
        return 0;
    }
    REQUIRE(rk_out_open("/dev/null", &out, &err) == RK_OK);
    REQUIRE(rk_study_html(&study, out, &err) == RK_OK || err.code == RK_ERR_INVALID);
    rk_study_markdown(&study, out);
    REQUIRE(rk_out_close(out, &err) == RK_OK);
    rk_study_clear(&study);
    return 0;
}
