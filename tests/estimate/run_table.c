/* SPDX-License-Identifier: Apache-2.0 */
#include "run_table.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long length = 0;
    if (file && fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) > 0) {
        rewind(file);
        text = malloc((size_t)length + 1);
    }
    if (text && fread(text, 1, (size_t)length, file) != (size_t)length) {
        free(text);
        text = NULL;
    }
    if (file) {
        (void)fclose(file);
    }
    if (text) {
        text[length] = '\0';
        *size = (size_t)length;
    }
    return text;
}

/*
 * Ends the cell at `at` in place, its quotes taken off, and says what followed it: ',', '\n' or
 * '\0'.  Returns the start of the next cell.
 */
static char *cut_cell(char *at, char *end, char *separator)
{
    char *out = at;
    bool quoted = *at == '"';
    at += quoted;
    while (at < end && (quoted || (*at != ',' && *at != '\n'))) {
        if (quoted && *at == '"') {
            if (at[1] != '"') {
                quoted = false;
                at++;
                continue;
            }
            at++;
        }
        *out++ = *at++;
    }
    *separator = at < end ? *at : '\0';
    *out = '\0'; /* never past `at`, whose separator is known by now */
    return at + 1;
}

static bool cut_table(run_table *table, char *end)
{
    size_t room = 0, count = 0;
    char separator = ',';
    for (char *at = table->text; at < end;) {
        if (count == room) {
            room = room ? 2 * room : 4096;
            char **more = realloc(table->cells, room * sizeof(*more));
            if (!more) {
                return false;
            }
            table->cells = more;
        }
        char *cell = at;
        at = cut_cell(at, end, &separator);
        table->cells[count++] = cell;
        if (table->columns == 0 && separator != ',') {
            table->columns = count;
        }
    }
    if (table->columns == 0 || count % table->columns) {
        return false;
    }
    table->rows = count / table->columns - 1;
    return true;
}

bool run_table_load(const char *path, run_table *table)
{
    size_t size = 0;
    *table = (run_table){.text = read_file(path, &size)};
    if (table->text && cut_table(table, table->text + size)) {
        return true;
    }
    run_table_clear(table);
    return false;
}

void run_table_clear(run_table *table)
{
    free(table->cells);
    free(table->text);
    *table = (run_table){.text = NULL};
}

const char *run_cell(const run_table *table, size_t row, const char *column)
{
    for (size_t i = 0; i < table->columns; i++) {
        if (strcmp(table->cells[i], column) == 0) {
            return table->cells[(row + 1) * table->columns + i];
        }
    }
    return "";
}

double run_number(const run_table *table, size_t row, const char *column, double missing)
{
    const char *cell = run_cell(table, row, column);
    char *end = NULL;
    const double value = strtod(cell, &end);
    return end == cell ? missing : value;
}

bool run_has(const run_table *table, size_t row, const char *column, const char *part)
{
    const size_t length = strlen(part);
    for (const char *at = run_cell(table, row, column); *at; at++) {
        size_t i = 0;
        while (i < length && tolower((unsigned char)at[i]) == tolower((unsigned char)part[i])) {
            i++;
        }
        if (i == length) {
            return true;
        }
    }
    return false;
}
