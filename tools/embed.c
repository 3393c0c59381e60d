/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build tool: writes the documents and tables of data/ as a C file that defines rk_catalogue.
 *
 *     embed DATA OUTPUT DEPFILE KIND[=FOLDER][:csv|:html]...
 *
 * reads DATA/FOLDER/(name).json for every kind, or (name).csv or .html where the kind says so;
 * FOLDER is KIND by default.  Entries come out sorted by kind and name, as rk_catalogue_find
 * expects; DEPFILE lists everything that was looked at, for ninja.
 */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct output {
    FILE *code, *table, *deps; /* table: the entries, appended to the code at the end */
    size_t count;
} output;

static void die(const char *what, const char *path)
{
    fprintf(stderr, "embed: %s %s: %s\n", what, path, strerror(errno));
    exit(1);
}

static FILE *open_or_die(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    if (!file) {
        die("cannot open", path);
    }
    return file;
}

/* Writes a path for a depfile, where a blank separates. */
static void write_dependency(FILE *deps, const char *path)
{
    fputs(" \\\n  ", deps);
    for (; *path; path++) {
        if (*path == ' ') {
            fputc('\\', deps);
        }
        fputc(*path, deps);
    }
}

/* An array of numbers: ISO C bounds the length of a string literal, not of an array. */
static void embed_bytes(FILE *code, size_t index, const char *path)
{
    FILE *in = open_or_die(path, "rb");
    fprintf(code, "static const unsigned char text_%zu[] = {", index);
    size_t size = 0;
    for (int c; (c = getc(in)) != EOF; size++) {
        fprintf(code, "%s%d,", size % 24 ? "" : "\n    ", c);
    }
    if (ferror(in) || size == 0) {
        die("cannot read", path);
    }
    fclose(in);
    fputs("\n};\n", code);
}

/* Length of a file name without an ending; 0 for other names. */
static size_t stem_length(const char *name, const char *ending)
{
    const size_t length = strlen(name), end = strlen(ending);
    return length > end && strcmp(name + length - end, ending) == 0 ? length - end : 0;
}

static int is_document(const struct dirent *entry)
{
    return stem_length(entry->d_name, ".json") > 0;
}

static int is_table(const struct dirent *entry)
{
    return stem_length(entry->d_name, ".csv") > 0;
}

static int is_page(const struct dirent *entry)
{
    return stem_length(entry->d_name, ".html") > 0;
}

/* Names may end in any character, so the ending is left out of the comparison. */
static int compare_entries(const struct dirent **a, const struct dirent **b)
{
    const char *x = (*a)->d_name, *y = (*b)->d_name;
    const size_t n = (size_t)(strrchr(x, '.') - x), m = (size_t)(strrchr(y, '.') - y);
    const int order = strncmp(x, y, n < m ? n : m);
    return order ? order : (n > m) - (n < m);
}

/* One argument, "KIND[=FOLDER][:csv|:html]". */
static void embed_kind(output *out, const char *data, const char *argument)
{
    char path[4096];
    struct dirent **entries;
    const size_t named = strcspn(argument, ":");
    const size_t kind = strcspn(argument, "=:");
    const char *folder = argument[kind] == '=' ? argument + kind + 1 : argument;
    const int folder_length = (int)(argument + named - folder);
    snprintf(path, sizeof(path), "%s/%.*s", data, folder_length, folder);
    write_dependency(out->deps, path);
    const char *ending = argument + named;
    const int count = scandir(path, &entries,
                              strcmp(ending, ":csv") == 0    ? is_table
                              : strcmp(ending, ":html") == 0 ? is_page
                                                             : is_document,
                              compare_entries);
    if (count < 0) {
        die("cannot list", path);
    }
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        snprintf(path, sizeof(path), "%s/%.*s/%s", data, folder_length, folder, name);
        write_dependency(out->deps, path);
        embed_bytes(out->code, out->count, path);
        fprintf(out->table, "    {\"%.*s\", \"%.*s\", (const char *)text_%zu, sizeof(text_%zu)},\n",
                (int)kind, argument, (int)(strrchr(name, '.') - name), name, out->count,
                out->count);
        out->count++;
        free(entries[i]);
    }
    free(entries);
}

static int compare_kinds(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fputs("usage: embed DATA OUTPUT DEPFILE KIND[=FOLDER][:csv|:html]...\n", stderr);
        return 2;
    }
    char *table = NULL;
    size_t table_size = 0;
    output out = {.code = open_or_die(argv[2], "w"), .deps = open_or_die(argv[3], "w")};
    out.table = open_memstream(&table, &table_size);
    if (!out.table) {
        die("cannot hold the table of", argv[2]);
    }

    fputs("/* Made by tools/embed.c from data/. */\n#include \"io/catalogue.h\"\n\n", out.code);
    fprintf(out.deps, "%s:", argv[2]);
    qsort(argv + 4, (size_t)argc - 4, sizeof(argv[0]), compare_kinds);
    for (int i = 4; i < argc; i++) {
        embed_kind(&out, argv[1], argv[i]);
    }
    fputc('\n', out.deps);
    if (fclose(out.table)) {
        die("cannot hold the table of", argv[2]);
    }
    fprintf(out.code,
            "\nconst rk_catalogue_entry rk_catalogue[] = {\n%s};\n"
            "const size_t rk_catalogue_count = %zu;\n",
            table, out.count);
    free(table);
    if (fclose(out.code)) {
        die("cannot write", argv[2]);
    }
    if (fclose(out.deps)) {
        die("cannot write", argv[3]);
    }
    return 0;
}
