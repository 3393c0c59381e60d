/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build tool: writes the documents and tables of data/ as a C file that defines rk_catalogue.
 *
 *     embed DATA OUTPUT DEPFILE [--compact] KIND[=FOLDER][:csv|:html|:rows|:NAME.json]...
 *
 * reads DATA/FOLDER/(name).json for every kind, or (name).csv or .html where the kind says so, or
 * the one document NAME.json; FOLDER is KIND by default.  With :rows each row of the tables there
 * is a document, see write_instance().  --compact leaves out the blanks of JSON.  Entries come out
 * sorted by kind and name, as rk_catalogue_find expects; DEPFILE lists everything that was looked
 * at, for ninja.
 */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRY_MAX = 4096, NAME_SIZE = 128, PATH_SIZE = 4096 };

typedef struct entry {
    char kind[NAME_SIZE], name[NAME_SIZE];
    size_t text; /* number of its array of bytes */
} entry;

typedef struct output {
    FILE *code, *deps;
    bool compact; /* JSON without blanks */
    size_t count;
    entry entries[ENTRY_MAX]; /* appended to the code at the end */
} output;

static void die(const char *what, const char *path)
{
    fprintf(stderr, "embed: %s %s: %s\n", what, path, strerror(errno));
    exit(1);
}

/* Adds an entry, whose text embed_bytes() writes next. */
static void add_entry(output *out, const char *kind, int kind_length, const char *name,
                      int name_length)
{
    if (out->count == ENTRY_MAX || kind_length >= NAME_SIZE || name_length >= NAME_SIZE) {
        errno = EOVERFLOW;
        die("too many entries, or too long a name:", name);
    }
    entry *e = &out->entries[out->count];
    snprintf(e->kind, NAME_SIZE, "%.*s", kind_length, kind);
    snprintf(e->name, NAME_SIZE, "%.*s", name_length, name);
    e->text = out->count++;
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

/*
 * An array of numbers: ISO C bounds the length of a string literal, not of an array.  `compact`: of
 * JSON without the blanks between its parts.
 */
static void embed_bytes(output *out, FILE *in, const char *path, bool compact)
{
    fprintf(out->code, "static const unsigned char text_%zu[] = {", out->count - 1);
    size_t size = 0;
    bool quoted = false;
    for (int c, before = 0; (c = getc(in)) != EOF; before = before == '\\' ? 0 : c) {
        quoted = quoted != (c == '"' && before != '\\');
        if (!compact || quoted || !strchr(" \n\t\r", c)) {
            fprintf(out->code, "%s%d,", size++ % 24 ? "" : "\n    ", c);
        }
    }
    if (ferror(in) || size == 0) {
        die("cannot read", path);
    }
    fclose(in);
    fputs("\n};\n", out->code);
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

/* ---- rows that are documents --------------------------------------------------------------- */

/*
 * Columns of a table of instances; no cell has a comma or a quote.  count: accelerators; inside:
 * tiers of the accelerator, "NAME[:SIZE]" or "SYSTEM/NAME", separated by ";"; fabric: one more such
 * tier, named `network` if that is given, with Gbps per instance; host_GiB, disk_GB: per instance.
 */
static const char header[] = "name,provider,accelerator,count,unit,inside,fabric,network,Gbps,"
                             "host_GiB,disk_GB,state,source\n";
enum {
    NAME,
    PROVIDER,
    ACCELERATOR,
    ACCELERATORS,
    UNIT,
    INSIDE,
    FABRIC,
    NETWORK,
    GBPS,
    HOST,
    DISK,
    STATE,
    SOURCE,
    COLUMNS
};

/* Writes the tiers of an instance as those of the documents of data/systems. */
static void write_tiers(FILE *to, char **cell)
{
    char *inside = cell[INSIDE];
    int written = 0;
    for (char *next; inside && *inside; inside = next) {
        next = strchr(inside, ';');
        if (next) {
            *next++ = '\0';
        }
        char *size = strchr(inside, ':');
        if (size) {
            *size++ = '\0';
        }
        fprintf(to, "%s{\"as\": \"%s\"", written++ ? ", " : "", inside);
        if (size) {
            fprintf(to, ", \"size\": %s, \"source\": \"as %s\"", size, cell[NAME]);
        }
        fputc('}', to);
    }
    if (*cell[FABRIC]) {
        fprintf(to, "%s{\"as\": \"%s\"", written ? ", " : "", cell[FABRIC]);
        if (*cell[NETWORK]) {
            fprintf(to, ", \"name\": \"%s\"", cell[NETWORK]);
        }
        if (*cell[GBPS]) {
            fprintf(to, ", \"bandwidth_GBps\": %.9g, \"source\": \"%s Gb/s a %s\"",
                    atof(cell[GBPS]) / 8 / atof(cell[ACCELERATORS]), cell[GBPS], cell[UNIT]);
        }
        fputc('}', to);
    }
}

static void write_instance(FILE *to, char **cell)
{
    fprintf(to, "{\n  \"name\": \"%s\",\n  \"description\": \"%s %s: %s x %s", cell[NAME],
            cell[PROVIDER], cell[NAME], cell[ACCELERATORS], cell[ACCELERATOR]);
    if (*cell[GBPS]) {
        fprintf(to, ", %s Gb/s", cell[GBPS]);
    }
    if (*cell[NETWORK]) {
        fprintf(to, " %s", cell[NETWORK]);
    }
    if (*cell[DISK]) {
        fprintf(to, ", %s GB of local disks", cell[DISK]);
    }
    fprintf(to,
            "\",\n  \"accelerator\": \"%s\",\n  \"unit\": \"%s\",\n  \"accelerators\": %s,\n"
            "  \"tiers\": [",
            cell[ACCELERATOR], cell[UNIT], cell[ACCELERATORS]);
    write_tiers(to, cell);
    fputs("],\n", to);
    if (*cell[HOST]) {
        fprintf(to, "  \"host_capacity_GiB\": %.9g,\n",
                atof(cell[HOST]) / atof(cell[ACCELERATORS]));
    }
    fprintf(to, "  \"source\": \"%s (%s)\"\n}\n", cell[SOURCE], cell[STATE]);
}

/* Cuts a line at its commas; false: it has more or fewer cells than the header. */
static int cut_row(char *line, char **cell)
{
    int count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; at; count++) {
        if (count == COLUMNS) {
            return 0;
        }
        cell[count] = at;
        at = strchr(at, ',');
        if (at) {
            *at++ = '\0';
        }
    }
    return count == COLUMNS;
}

static void embed_rows(output *out, const char *path, const char *kind, int kind_length)
{
    char line[4096], text[8192], *cell[COLUMNS];
    FILE *in = open_or_die(path, "r");
    if (!fgets(line, sizeof(line), in) || strcmp(line, header)) {
        errno = EINVAL;
        die("another header in", path);
    }
    while (fgets(line, sizeof(line), in)) {
        if (!cut_row(line, cell)) {
            errno = EINVAL;
            die(line, path);
        }
        add_entry(out, kind, kind_length, cell[NAME], (int)strlen(cell[NAME]));
        FILE *to = fmemopen(text, sizeof(text), "w");
        if (!to) {
            die("cannot hold a row of", path);
        }
        write_instance(to, cell);
        const long size = ftell(to);
        if (fclose(to) || size < 0 || (size_t)size >= sizeof(text)) {
            die("cannot hold a row of", path);
        }
        embed_bytes(out, fmemopen(text, (size_t)size, "r"), path, out->compact);
    }
    fclose(in);
}

/* ---- folders ------------------------------------------------------------------------------- */

/* One argument, "KIND[=FOLDER][:csv|:html|:rows|:NAME.json]". */
static void embed_kind(output *out, const char *data, const char *argument)
{
    char path[PATH_SIZE];
    struct dirent **entries;
    const size_t named = strcspn(argument, ":");
    const int kind = (int)strcspn(argument, "=:");
    const char *folder = argument[kind] == '=' ? argument + kind + 1 : argument;
    const int folder_length = (int)(argument + named - folder);
    snprintf(path, sizeof(path), "%s/%.*s", data, folder_length, folder);
    write_dependency(out->deps, path);
    const char *ending = argument + named;
    const int rows = strcmp(ending, ":rows") == 0, one = stem_length(ending, ".json") > 0;
    const int count = scandir(path, &entries,
                              rows || strcmp(ending, ":csv") == 0 ? is_table
                              : strcmp(ending, ":html") == 0      ? is_page
                                                                  : is_document,
                              alphasort);
    if (count < 0) {
        die("cannot list", path);
    }
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        snprintf(path, sizeof(path), "%s/%.*s/%s", data, folder_length, folder, name);
        write_dependency(out->deps, path);
        if (one && strcmp(name, ending + 1) != 0) {
            free(entries[i]);
            continue;
        }
        if (rows) {
            embed_rows(out, path, argument, kind);
        } else {
            add_entry(out, argument, kind, name, (int)(strrchr(name, '.') - name));
            embed_bytes(out, open_or_die(path, "rb"), path,
                        out->compact && stem_length(path, ".json") > 0);
        }
        free(entries[i]);
    }
    free(entries);
}

static int compare_entries(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    const int order = strcmp(x->kind, y->kind);
    return order ? order : strcmp(x->name, y->name);
}

/* The entries in order, as the last part of the code. */
static void write_table(output *out)
{
    qsort(out->entries, out->count, sizeof(out->entries[0]), compare_entries);
    fputs("\nconst rk_catalogue_entry rk_catalogue[] = {\n", out->code);
    for (size_t i = 0; i < out->count; i++) {
        const entry *e = &out->entries[i];
        if (i > 0 && compare_entries(e - 1, e) == 0) {
            errno = EEXIST;
            die("two documents of", e->name);
        }
        fprintf(out->code, "    {\"%s\", \"%s\", (const char *)text_%zu, sizeof(text_%zu)},\n",
                e->kind, e->name, e->text, e->text);
    }
    fprintf(out->code, "};\nconst size_t rk_catalogue_count = %zu;\n", out->count);
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fputs("usage: embed DATA OUTPUT DEPFILE [--compact] "
              "KIND[=FOLDER][:csv|:html|:rows|:NAME.json]...\n",
              stderr);
        return 2;
    }
    output *out = calloc(1, sizeof(*out));
    if (!out) {
        die("cannot hold the entries of", argv[2]);
    }
    out->compact = strcmp(argv[4], "--compact") == 0;
    out->code = open_or_die(argv[2], "w");
    out->deps = open_or_die(argv[3], "w");
    fputs("/* Made by tools/embed.c from data/. */\n#include \"io/catalogue.h\"\n\n", out->code);
    fprintf(out->deps, "%s:", argv[2]);
    for (int i = 4 + out->compact; i < argc; i++) {
        embed_kind(out, argv[1], argv[i]);
    }
    fputc('\n', out->deps);
    write_table(out);
    if (fclose(out->code)) {
        die("cannot write", argv[2]);
    }
    if (fclose(out->deps)) {
        die("cannot write", argv[3]);
    }
    free(out);
    return 0;
}
