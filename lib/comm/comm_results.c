/* SPDX-License-Identifier: Apache-2.0 */
/* Parses nccl-tests, rccl-tests and hccl_test logs and CSV tables into rows by machine. */
#include "comm/comm_results.h"

#include "base/error.h"
#include "base/named.h"
#include "io/csv_in.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ---------------------------------------------------------------------------------- */

/* Facts that a set of rows shares. */
typedef struct origin {
    const char *system, *machine;
    rk_comm_links links;
    double nominal;
} origin;

static rk_comm_set *set_of(rk_comm_results *results, const origin *from, rk_collective op)
{
    for (size_t i = 0; i < results->count; i++) {
        if (results->sets[i].op == op && strcmp(results->sets[i].system, from->system) == 0) {
            return &results->sets[i];
        }
    }
    rk_comm_set *sets = realloc(results->sets, (results->count + 1) * sizeof(*sets));
    if (!sets) {
        return NULL;
    }
    results->sets = sets;
    rk_comm_set *set = &sets[results->count++];
    *set = (rk_comm_set){.op = op, .links = from->links, .nominal = from->nominal};
    (void)snprintf(set->system, sizeof(set->system), "%s", from->system);
    (void)snprintf(set->machine, sizeof(set->machine), "%s", from->machine);
    return set;
}

static rk_status add_row(rk_comm_results *results, const origin *from, const rk_comm_row *row,
                         rk_error *err)
{
    rk_comm_set *set = set_of(results, from, row->op);
    rk_comm_row *rows = set ? realloc(set->rows, (set->count + 1) * sizeof(*rows)) : NULL;
    if (!rows) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the rows of results");
    }
    set->rows = rows;
    rows[set->count++] = *row;
    return RK_OK;
}

/* The names of nccl-tests and of hccl_test, and ours. */
static bool find_op(const char *text, rk_collective *op)
{
    static const rk_named_count names[] = {
        {"all_reduce", RK_COLL_ALL_REDUCE},
        {"allreduce", RK_COLL_ALL_REDUCE},
        {"reduce_scatter", RK_COLL_REDUCE_SCATTER},
        {"reducescatter", RK_COLL_REDUCE_SCATTER},
        {"all_gather", RK_COLL_ALL_GATHER},
        {"allgather", RK_COLL_ALL_GATHER},
        {"all_to_all", RK_COLL_ALL_TO_ALL},
        {"alltoall", RK_COLL_ALL_TO_ALL},
        {"broadcast", RK_COLL_BROADCAST},
        {"sendrecv", RK_COLL_SEND},
        {"send", RK_COLL_SEND},
        {"scatter", RK_COLL_SCATTER},
        {"gather", RK_COLL_GATHER},
        {"reduce", RK_COLL_REDUCE},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strstr(text, names[i].name)) {
            *op = (rk_collective)names[i].value;
            return true;
        }
    }
    return false;
}

static bool is_sound(const rk_comm_row *row)
{
    return row->ranks >= 2 && row->domains >= 1 && row->domains <= row->ranks && row->bytes > 0 &&
           row->seconds > 0 && row->inject_bytes >= 0 && isfinite(row->ranks) &&
           isfinite(row->bytes) && isfinite(row->seconds);
}

/* ---- tables -------------------------------------------------------------------------------- */

static const char *cell_of(const rk_csv_in *table, size_t row, const char *column)
{
    assert(row < table->rows);
    for (size_t i = 0; i < table->columns; i++) {
        if (strcmp(table->cells[i], column) == 0) {
            return table->cells[(row + 1) * table->columns + i];
        }
    }
    return NULL;
}

/* NaN, with which no row is sound, where the cell holds something else. */
static double number_of(const rk_csv_in *table, size_t row, const char *column, double absent)
{
    const char *cell = cell_of(table, row, column);
    char *end = NULL;
    const double number = cell && *cell ? strtod(cell, &end) : absent;
    return end && *end ? (double)NAN : number;
}

/* The names in the order of rk_comm_links; absent: unknown. */
static bool find_links(const char *text, rk_comm_links *links)
{
    static const char *const names[] = {"", "direct", "switch", "reducing switch"};
    size_t i = 0;
    while (i < sizeof(names) / sizeof(names[0]) && text && strcmp(names[i], text) != 0) {
        i++;
    }
    *links = (rk_comm_links)i;
    return i < sizeof(names) / sizeof(names[0]);
}

static rk_status load_table(const char *path, rk_comm_results *results, rk_error *err)
{
    rk_csv_in table = {0};
    rk_status status = rk_csv_load(path, &table, err);
    for (size_t i = 0; !status && i < table.rows; i++) {
        const char *op = cell_of(&table, i, "op"), *system = cell_of(&table, i, "system");
        const char *machine = cell_of(&table, i, "machine");
        origin from = {.system = system ? system : "measured",
                       .nominal = number_of(&table, i, "GBps", 0) * 1e9};
        from.machine = machine && *machine ? machine : from.system;
        const double ranks = number_of(&table, i, "ranks", 0);
        const double local = number_of(&table, i, "ranks_per_node", ranks);
        rk_comm_row row = {
            .ranks = ranks,
            .domains = number_of(&table, i, "domains", local > 0 ? ranks / local : 0),
            .bytes = number_of(&table, i, "bytes", 0),
            .seconds = number_of(&table, i, "seconds", number_of(&table, i, "us", 0) * 1e-6),
            .inject_bytes = number_of(&table, i, "inject_bytes", 0),
        };
        if (!op || !find_op(op, &row.op) || !is_sound(&row)) {
            status = rk_fail(err, RK_ERR_SYNTAX,
                             "row %zu is no measured collective: a table needs the columns op, "
                             "ranks, bytes, seconds (or us), and domains or ranks_per_node",
                             i + 1);
            break;
        }
        if (!isfinite(from.nominal)) {
            status = rk_fail(err, RK_ERR_SYNTAX, "row %zu: GBps is '%s', expected a number", i + 1,
                             cell_of(&table, i, "GBps"));
            break;
        }
        if (!find_links(cell_of(&table, i, "links"), &from.links)) {
            status = rk_fail(err, RK_ERR_SYNTAX,
                             "row %zu: links is '%s', expected direct, switch or reducing switch",
                             i + 1, cell_of(&table, i, "links"));
            break;
        }
        status = add_row(results, &from, &row, err);
    }
    rk_csv_in_clear(&table);
    return status;
}

/* ---- logs ---------------------------------------------------------------------------------- */

enum { HOST_MAX = 4096, HOST_SIZE = 64 };

struct log {
    bool has_op;
    rk_collective op;
    int64_t ranks;
    int hosts;
    char (*host)[HOST_SIZE]; /* owned */
    int time_column;         /* of a row of nccl-tests; -1: none yet */
    bool hccl;               /* rows are "bytes | us | ..." */
};

/* "#  Rank  0 Group  0 Pid 12345 on  node1 device  0 [0x53] NVIDIA H100" */
static void note_rank(struct log *log, const char *line)
{
    long rank = 0;
    char host[HOST_SIZE];
    const char *on = strstr(line, " on ");
    if (!on || sscanf(line, "# Rank %ld", &rank) != 1 || sscanf(on + 4, "%63s", host) != 1) {
        return;
    }
    log->ranks = rank >= log->ranks ? rank + 1 : log->ranks;
    for (int i = 0; i < log->hosts; i++) {
        if (strcmp(log->host[i], host) == 0) {
            return;
        }
    }
    if (log->hosts < HOST_MAX) {
        memcpy(log->host[log->hosts++], host, HOST_SIZE);
    }
}

/* "#       size         count      type   redop    root     time ...": which column is the time */
static void note_header(struct log *log, char *line)
{
    int column = -1; /* the first word is "#" */
    char *rest = NULL;
    for (char *word = strtok_r(line, " \t\r\n", &rest); word;
         word = strtok_r(NULL, " \t\r\n", &rest), column++) {
        if (strcmp(word, "time") == 0) {
            log->time_column = column;
            return;
        }
    }
}

static void note_comment(struct log *log, char *line)
{
    if (strstr(line, "Rank")) {
        note_rank(log, line);
    } else if (strstr(line, "size") && strstr(line, "count")) {
        note_header(log, line);
    } else if (!log->has_op) {
        log->has_op = find_op(line, &log->op);
    }
}

/* Bytes and microseconds of a row; false: the line is none. */
static bool read_line(const struct log *log, char *line, double *bytes, double *us)
{
    char *end = NULL, *rest = NULL;
    *bytes = strtod(line, &end);
    if (end == line) {
        return false;
    }
    if (log->hccl) {
        const char *bar = strchr(end, '|');
        *us = bar ? strtod(bar + 1, NULL) : 0;
        return bar && *us > 0;
    }
    int column = 0;
    for (char *word = strtok_r(line, " \t\r\n", &rest); word && log->time_column > 0;
         word = strtok_r(NULL, " \t\r\n", &rest), column++) {
        if (column == log->time_column) {
            *us = strtod(word, &end);
            return end != word && *us > 0;
        }
    }
    return false;
}

static rk_status take_line(struct log *log, const rk_comm_hint *hint, char *line,
                           rk_comm_results *results, rk_error *err)
{
    const char *start = line + strspn(line, " \t");
    double bytes = 0, us = 0;
    if (*start == '#') {
        note_comment(log, line + (start - line));
        return RK_OK;
    }
    if (strstr(line, "data_size")) {
        log->hccl = true;
        return RK_OK;
    }
    if (!read_line(log, line, &bytes, &us)) {
        log->has_op = log->has_op || find_op(line, &log->op); /* a command line in the log */
        return RK_OK;
    }
    rk_comm_row row = {
        .op = hint->has_op ? hint->op : log->op,
        .ranks = (double)(hint->ranks ? hint->ranks : log->ranks),
        .bytes = bytes,
        .seconds = us * 1e-6,
    };
    const double hosts = log->hosts > 0 ? log->hosts : 1;
    row.domains = hint->domains ? (double)hint->domains : hosts;
    if (!hint->has_op && !log->has_op) {
        return rk_fail(err, RK_ERR_INVALID,
                       "the log does not name its collective: give it, as in 'reckon comm "
                       "all-reduce --fit FILE'");
    }
    if (row.ranks < 2) {
        return rk_fail(err, RK_ERR_INVALID,
                       "the log does not list its ranks: give --ranks, and --domains for several "
                       "nodes");
    }
    const origin from = {.system = "measured", .machine = "measured"};
    return bytes > 0 && is_sound(&row) ? add_row(results, &from, &row, err) : RK_OK;
}

static rk_status load_log(FILE *file, const rk_comm_hint *hint, rk_comm_results *results,
                          rk_error *err)
{
    struct log log = {.time_column = -1, .host = calloc(HOST_MAX, HOST_SIZE)};
    char *line = NULL;
    size_t room = 0;
    rk_status status =
        log.host ? RK_OK : rk_fail(err, RK_ERR_MEMORY, "not enough memory for the names of hosts");
    while (!status && getline(&line, &room, file) >= 0) {
        status = take_line(&log, hint, line, results, err);
    }
    if (!status && !feof(file)) { /* errno is that of getline, of a folder too */
        status = rk_fail(err, errno == ENOMEM ? RK_ERR_MEMORY : RK_ERR_IO, "cannot read: %s",
                         strerror(errno));
    }
    free(line);
    free(log.host);
    return status;
}

/* Whether a file begins with the header of a table. */
static bool is_table(FILE *file)
{
    char first[256] = "";
    const bool table = fgets(first, sizeof(first), file) && first[0] != '#' && strchr(first, ',') &&
                       strstr(first, "ranks") && strstr(first, "bytes");
    rewind(file);
    return table;
}

rk_status rk_comm_results_load(const char *path, const rk_comm_hint *hint, rk_comm_results *results,
                               rk_error *err)
{
    *results = (rk_comm_results){0};
    FILE *file = fopen(path, "r");
    if (!file) {
        return rk_fail(err, RK_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
    }
    rk_status status =
        is_table(file) ? load_table(path, results, err) : load_log(file, hint, results, err);
    (void)fclose(file);
    if (!status && results->count == 0) {
        status = rk_fail(err, RK_ERR_SYNTAX,
                         "no rows of nccl-tests, rccl-tests or hccl_test, and no table of them");
    }
    if (status) {
        rk_error_set_file(err, path);
    }
    return status;
}

void rk_comm_results_clear(rk_comm_results *results)
{
    for (size_t i = 0; i < results->count; i++) {
        free(results->sets[i].rows);
    }
    free(results->sets);
    *results = (rk_comm_results){0};
}
