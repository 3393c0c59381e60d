/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the JSON Schema of the requests of every command as members of one object; "plan.calculon"
 * is that of `reckon plan --method calculon`.
 */
#include <reckon/reckon.h>
#include <stdio.h>

static int print(const char *prefix, const rk_command *command, const char *suffix)
{
    rk_error err;
    char *schema, text[1024];
    if (rk_command_schema(command, &schema, &err)) {
        (void)fprintf(stderr, "%s\n", rk_error_text(&err, text, sizeof(text)));
        return 1;
    }
    (void)printf("%s\"%s%s\": %s", prefix, rk_command_name(command), suffix, schema);
    rk_free(schema);
    return 0;
}

int main(void)
{
    const rk_command *command, *other;
    rk_error err;
    int failed = 0;
    for (size_t i = 0; (command = rk_command_at(i)); i++) {
        failed |= print(i ? ", " : "{", command, "");
        if (rk_command_resolve(command, "calculon", NULL, NULL, &other, &err) == RK_OK &&
            other != command) {
            failed |= print(", ", other, ".calculon");
        }
    }
    (void)puts("}");
    return failed;
}
