/* SPDX-License-Identifier: Apache-2.0 */
/* The database of a sweep: what it holds, and going on with one that was left unfinished. */
#include "io/file_lock.h"

#include "grid.h"

#include <inttypes.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <time.h>

#define KILLS 20

static sqlite3 *open_database(const char *path)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    return db;
}

static int64_t query_integer(const char *path, const char *sql)
{
    sqlite3 *db = open_database(path);
    sqlite3_stmt *statement = NULL;
    int64_t value = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        value = sqlite3_column_int64(statement, 0);
    }
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return value;
}

static void execute(const char *path, const char *sql)
{
    sqlite3 *db = open_database(path);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(db);
}

/* All rows of both tables in the order of the CSV file. */
static const char all_rows[] =
    "SELECT * FROM points LEFT JOIN results USING (point) ORDER BY point, rank";

/* Compares one value of the database with a cell of the CSV file. */
static void check_cell(sqlite3_stmt *statement, int column, const char *cell)
{
    const char *declared = sqlite3_column_decltype(statement, column);
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
        assert_string_equal(cell, "");
        break;
    case SQLITE_TEXT:
        assert_string_equal(cell, (const char *)sqlite3_column_text(statement, column));
        break;
    case SQLITE_FLOAT:
        assert_true(strtod(cell, NULL) == sqlite3_column_double(statement, column));
        break;
    default:
        if (declared && strcmp(declared, "BOOLEAN") == 0) {
            assert_string_equal(cell, sqlite3_column_int(statement, column) ? "true" : "false");
        } else {
            assert_true(strtoll(cell, NULL, 10) == sqlite3_column_int64(statement, column));
        }
        break;
    }
}

/* While one sweep writes the database, another is refused, whether it resumes or not. */
static void test_one_writer(void **state)
{
    scratch s;
    char db_path[512], byte = 0;
    int ready[2];
    rk_sweep_totals totals;
    rk_error err;
    (void)state;
    assert_true(scratch_make(&s));
    (void)snprintf(db_path, sizeof(db_path), "%s", scratch_path(&s, "a.db"));
    assert_int_equal(pipe(ready), 0);
    const pid_t other = fork();
    assert_true(other >= 0);
    if (other == 0) {
        rk_file_lock lock;
        byte = rk_file_lock_take(db_path, &lock, &err) == RK_OK;
        (void)!write(ready[1], &byte, 1);
        (void)pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 1);
    rk_sweep_doc *doc = grid_parse(grid_small);
    for (int resume = 0; resume < 2; resume++) {
        const rk_sweep_options options = {.control.sqlite = db_path, .control.resume = resume};
        assert_int_equal(rk_sweep_run(doc, &options, &totals, &err), RK_ERR_INVALID);
        assert_string_equal(err.file, db_path);
        assert_non_null(strstr(err.message, "is writing this file"));
    }

    /* The lock ends with the process that holds it, whose file stays behind.  The next lock has the
     * lowest descriptor, 0 where there is no standard input. */
    (void)kill(other, SIGKILL);
    assert_true(waitpid(other, NULL, 0) == other);
    const rk_sweep_options options = {.control.sqlite = db_path};
    const int input = dup(STDIN_FILENO);
    (void)close(STDIN_FILENO);
    (void)grid_run(doc, &options);
    (void)dup2(input, STDIN_FILENO);
    (void)close(input);
    rk_sweep_doc_free(doc);
    (void)snprintf(db_path, sizeof(db_path), "%s", scratch_path(&s, "a.db-lock"));
    assert_true(access(db_path, F_OK) != 0);
    scratch_remove(&s);
}

static void test_database_equals_csv(void **state)
{
    char csv_path[512], db_path[512];
    scratch s;
    grid_csv csv;
    (void)state;
    assert_true(scratch_make(&s));
    (void)snprintf(csv_path, sizeof(csv_path), "%s", scratch_path(&s, "a.csv"));
    (void)snprintf(db_path, sizeof(db_path), "%s", scratch_path(&s, "a.db"));
    rk_sweep_doc *doc = grid_parse(grid_mixed);
    const rk_sweep_options options = {.control.csv = csv_path, .control.sqlite = db_path};
    (void)grid_run(doc, &options);
    grid_csv_read(csv_path, &csv);

    sqlite3 *db = open_database(db_path);
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, all_rows, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_column_count(statement), csv.columns);
    for (size_t i = 0; i < csv.columns; i++) {
        assert_string_equal(sqlite3_column_name(statement, (int)i), csv.cells[0][i]);
    }
    size_t row = 1;
    for (; sqlite3_step(statement) == SQLITE_ROW; row++) {
        assert_true(row < csv.rows);
        for (size_t i = 0; i < csv.columns; i++) {
            check_cell(statement, (int)i, csv.cells[row][i]);
        }
    }
    assert_int_equal(row, csv.rows);
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    assert_int_equal(query_integer(db_path, "SELECT point_count FROM sweep"), 12);
    assert_int_equal(query_integer(db_path, "SELECT count(*) FROM points"), 12);
    free(csv.text);
    rk_sweep_doc_free(doc);
    scratch_remove(&s);
}

/* Ends the process without any chance to clean up, once the count in `user` is used up. */
static bool die(void *user, const rk_sweep_progress *progress)
{
    int *left = user;
    (void)progress;
    if (--*left == 0) {
        (void)raise(SIGKILL);
    }
    return true;
}

/*
 * Runs the sweep in a process that is killed after `calls` calls of progress or `delay_ns`. Returns
 * whether the kill came in time.
 */
static bool run_and_kill(const rk_sweep_doc *doc, rk_sweep_options options, int calls,
                         long delay_ns)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        rk_sweep_totals totals;
        rk_error err;
        options.control.progress = calls > 0 ? die : NULL;
        options.control.user = &calls;
        _exit(rk_sweep_run(doc, &options, &totals, &err) == RK_OK ? 0 : 1);
    }
    if (calls == 0) {
        const struct timespec delay = {.tv_nsec = delay_ns};
        (void)nanosleep(&delay, NULL);
        (void)kill(child, SIGKILL);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    /* A timed kill may come too late; nothing else may have gone wrong. */
    assert_true(WIFSIGNALED(status) || (calls == 0 && WEXITSTATUS(status) == 0));
    return WIFSIGNALED(status);
}

/* ---- resuming ------------------------------------------------------------------------------ */

/* Appends printed text to a string that grows. */
static void append(char **text, size_t *size, const char *more)
{
    const size_t length = strlen(more);
    *text = realloc(*text, *size + length + 1);
    assert_non_null(*text);
    memcpy(*text + *size, more, length + 1);
    *size += length;
}

/* Everything that a database holds, in the order in which it lies there; the caller frees it. */
static char *dump(const char *path)
{
    static const char *const tables[] = {"SELECT sql FROM sqlite_master", "SELECT * FROM sweep",
                                         "SELECT * FROM points", "SELECT * FROM results",
                                         "SELECT * FROM pareto"};
    sqlite3 *db = open_database(path);
    char *text = NULL;
    size_t size = 0;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        sqlite3_stmt *statement = NULL;
        assert_int_equal(sqlite3_prepare_v2(db, tables[i], -1, &statement, NULL), SQLITE_OK);
        while (sqlite3_step(statement) == SQLITE_ROW) {
            for (int j = 0; j < sqlite3_column_count(statement); j++) {
                char cell[64] = "";
                if (sqlite3_column_type(statement, j) == SQLITE_FLOAT) {
                    (void)snprintf(cell, sizeof(cell), "%a", sqlite3_column_double(statement, j));
                }
                const char *plain = (const char *)sqlite3_column_text(statement, j);
                append(&text, &size, cell[0] ? cell : plain ? plain : "NULL");
                append(&text, &size, "|");
            }
            append(&text, &size, "\n");
        }
        (void)sqlite3_finalize(statement);
    }
    (void)sqlite3_close(db);
    return text;
}

/*
 * Thirty-six points with all that can be asked for: results that constraints drop, expressions of
 * both kinds, points where nothing fits and points that are dropped.
 */
static const char grid_rich[] =
    "{\"system\": \"a100_80g\", \"datatype\": \"float16\", \"top\": 3, \"let\": {\"gib\": 80},"
    " \"set\": {\"system.mem1.GiB\": \"gib / 2\"},"
    " \"point_constraints\": [\"processors > 1 or batch > 4\"],"
    " \"result_constraints\": [\"pipeline_par * tensor_par > 1\"],"
    " \"columns\": [\"tensor_par\", \"pipeline_par\", \"sample_rate\", \"total_time\","
    " {\"cost\": \"processors * total_time * 2 / 3600\", \"twice\": \"2 * processors\","
    "  \"is_large\": \"total_time > 1\"}],"
    " \"axes\": [{\"key\": \"application\", \"values\": [\"megatron-126M\", \"gpt3-13B\"]},"
    " {\"key\": \"gib\", \"values\": [80, 1, 0.5]}, {\"keys\": [\"processors\", \"batch\"],"
    " \"values\": [[1, 4], [1, 8], [2, 4], [2, 8], [4, 4], [4, 8]]}]}";

/* An uninterrupted run, what it left, and how long it took. */
struct whole {
    rk_sweep_doc *doc;
    rk_sweep_options options;
    char csv_path[512], db_path[512];
    char *csv, *database; /* owned */
    size_t csv_size;
    rk_sweep_totals totals;
    double seconds;
};

static double seconds_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run_whole(struct whole *w, scratch *s)
{
    *w = (struct whole){.doc = grid_parse(grid_rich)};
    (void)snprintf(w->csv_path, sizeof(w->csv_path), "%s", scratch_path(s, "a.csv"));
    (void)snprintf(w->db_path, sizeof(w->db_path), "%s", scratch_path(s, "a.db"));
    w->options = (rk_sweep_options){.control.csv = w->csv_path,
                                    .control.sqlite = w->db_path,
                                    .control.pareto = "time,cost",
                                    .control.threads = 2,
                                    .block_points = 1,
                                    .flush_seconds = 0.02};
    const double started = seconds_now();
    w->totals = grid_run(w->doc, &w->options);
    w->seconds = seconds_now() - started;
    w->csv = scratch_read(w->csv_path, &w->csv_size);
    w->database = dump(w->db_path);
    assert_non_null(w->csv);
    assert_true(w->totals.dropped > 0 && w->totals.fitting > 0);
    assert_true(w->totals.fitting < w->totals.points - w->totals.dropped);
}

static void remove_files(const struct whole *w)
{
    (void)unlink(w->csv_path);
    (void)unlink(w->db_path);
}

static void clear_whole(struct whole *w)
{
    remove_files(w);
    free(w->csv);
    free(w->database);
    rk_sweep_doc_free(w->doc);
}

/* Finishes what is left in the files, and compares the outcome with the uninterrupted run. */
static void check_resumed(const struct whole *w)
{
    rk_sweep_options again = w->options;
    const int64_t finished = access(w->db_path, F_OK) == 0
                                 ? query_integer(w->db_path, "SELECT count(*) FROM points")
                                 : 0;
    again.control.resume = true;
    for (int i = 0; i < 2; i++) { /* the second time, all is there */
        size_t size = 0;
        const rk_sweep_totals totals = grid_run(w->doc, &again);
        assert_int_equal(totals.resumed,
                         i == 0 ? (uint64_t)finished : w->totals.points - w->totals.dropped);
        assert_int_equal(totals.fitting, w->totals.fitting);
        char *csv = scratch_read(w->csv_path, &size);
        char *database = dump(w->db_path);
        assert_int_equal(size, w->csv_size);
        assert_memory_equal(csv, w->csv, size);
        assert_string_equal(database, w->database);
        free(csv);
        free(database);
    }
}

/* At given places: before the first point, between points, after the last. */
static void test_kill_between_points(void **state)
{
    struct whole w;
    scratch s;
    (void)state;
    assert_true(scratch_make(&s));
    run_whole(&w, &s);
    for (int calls = 1; calls <= 29; calls += 7) {
        remove_files(&w);
        (void)run_and_kill(w.doc, w.options, calls, 0);
        check_resumed(&w);
    }
    clear_whole(&w);
    scratch_remove(&s);
}

static uint64_t seed = 20250611;

/* A moment of the time that a whole run takes, in ns. */
static long draw_moment(double seconds)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    const double ns = (double)(seed >> 33) / 0x1p31 * seconds * 1e9;
    return ns < 999999999.0 ? (long)ns : 999999999L;
}

static void test_kill_at_random_moments(void **state)
{
    struct whole w;
    scratch s;
    int killed = 0;
    (void)state;
    assert_true(scratch_make(&s));
    run_whole(&w, &s);
    print_message("%d kills, seed %" PRIu64 ", a run takes %.3f s\n", KILLS, seed, w.seconds);
    double seconds = w.seconds;
    for (int tries = 0; killed < KILLS; tries++) {
        assert_true(tries < 10 * KILLS);
        remove_files(&w);
        const int landed = run_and_kill(w.doc, w.options, 0, draw_moment(seconds));
        seconds *= landed ? 1 : 0.95; /* the machine is faster than it was: the run was over */
        killed += landed;
        check_resumed(&w);
    }
    clear_whole(&w);
    scratch_remove(&s);
}

/* One run that is killed again and again while it resumes. */
static void test_kill_again_and_again(void **state)
{
    struct whole w;
    scratch s;
    (void)state;
    assert_true(scratch_make(&s));
    run_whole(&w, &s);
    remove_files(&w);
    w.options.control.resume = true;
    for (int i = 0; i < KILLS; i++) {
        (void)run_and_kill(w.doc, w.options, 0, draw_moment(w.seconds / 4));
    }
    check_resumed(&w);
    clear_whole(&w);
    scratch_remove(&s);
}

static void expect_missing(void *user, uint64_t missing, const char *points)
{
    assert_int_equal(missing, 1);
    assert_string_equal(points, "3");
    (*(int *)user)++;
}

/* A finished point is taken as it stands, not searched again. */
static void test_nothing_twice(void **state)
{
    char csv_path[512];
    scratch s;
    grid_csv csv;
    rk_sweep_totals totals;
    rk_error err;
    int told = 0;
    (void)state;
    assert_true(scratch_make(&s));
    (void)snprintf(csv_path, sizeof(csv_path), "%s", scratch_path(&s, "a.csv"));
    rk_sweep_doc *doc = grid_parse(grid_small);
    rk_sweep_options options = {.control.sqlite = scratch_path(&s, "a.db")};
    (void)grid_run(doc, &options);
    execute(s.path, "UPDATE points SET executed = 77 WHERE point = 2;"
                    "DELETE FROM results WHERE point = 3; DELETE FROM points WHERE point = 3");
    options.control.resume = true;
    options.control.csv = csv_path;
    options.resumed = expect_missing;
    options.control.user = &told;
    assert_int_equal(rk_sweep_check(doc, &options, &totals, &err), RK_OK);
    assert_int_equal(totals.resumed, 5);
    totals = grid_run(doc, &options);
    assert_int_equal(totals.resumed, 5);
    assert_int_equal(told, 2); /* by the check and by the run */
    grid_csv_read(csv_path, &csv);
    assert_int_equal(csv.rows, 1 + 6 * GRID_TOP);
    for (size_t row = 1; row < csv.rows; row++) {
        const char *point = grid_csv_cell(&csv, row, "point");
        const char *executed = grid_csv_cell(&csv, row, "executed");
        assert_int_equal(strcmp(executed, "77") == 0, strcmp(point, "2") == 0);
    }
    free(csv.text);
    rk_sweep_doc_free(doc);
    scratch_remove(&s);
}

/* ---- what is refused ------------------------------------------------------------------- */

/* Fails unless the file holds `size` bytes equal to `text`. */
static void check_file(const char *path, const char *text, size_t size)
{
    size_t found = 0;
    char *other = scratch_read(path, &found);
    assert_non_null(other);
    assert_int_equal(found, size);
    assert_memory_equal(other, text, size);
    free(other);
}

/* Runs the sweep into `a.db` and expects a refusal that says `says` and leaves the CSV alone. */
static void check_refused(scratch *s, const char *grid, bool resume, rk_status code,
                          const char *says)
{
    char csv_path[512], db_path[512];
    rk_sweep_totals totals;
    rk_error err = {0};
    rk_sweep_doc *doc = grid_parse(grid);
    (void)snprintf(db_path, sizeof(db_path), "%s", scratch_path(s, "a.db"));
    assert_true(scratch_write(s, "a.csv", "old", 3));
    (void)snprintf(csv_path, sizeof(csv_path), "%s", s->path);
    const rk_sweep_options options = {
        .control.csv = csv_path, .control.sqlite = db_path, .control.resume = resume};
    assert_int_equal(rk_sweep_run(doc, &options, &totals, &err), code);
    assert_string_equal(err.file, db_path);
    if (!strstr(err.message, says)) {
        fail_msg("%s", err.message);
    }
    check_file(csv_path, "old", 3);
    rk_sweep_doc_free(doc);
}

static void test_refusals(void **state)
{
    scratch s;
    (void)state;
    assert_true(scratch_make(&s));
    rk_sweep_doc *doc = grid_parse(grid_small);
    const rk_sweep_options options = {.control.sqlite = scratch_path(&s, "a.db")};
    (void)grid_run(doc, &options);
    rk_sweep_doc_free(doc);

    check_refused(&s, grid_small, false, RK_ERR_INVALID, "the file exists");
    check_refused(&s, grid_mixed, true, RK_ERR_INVALID, "another sweep");
    execute(scratch_path(&s, "a.db"), "UPDATE sweep SET reckon_version = '0.0.1'");
    check_refused(&s, grid_small, true, RK_ERR_INVALID, "another version");
    execute(scratch_path(&s, "a.db"), "DROP TABLE sweep");
    check_refused(&s, grid_small, true, RK_ERR_INVALID, "not written by a sweep");
    execute(scratch_path(&s, "a.db"), "CREATE TABLE sweep (reckon_version, document)");
    check_refused(&s, grid_small, true, RK_ERR_INVALID, "not written by a sweep");

    static const char text[] = "these are a few notes that somebody wrote, and no database at all";
    assert_true(scratch_write(&s, "a.db", text, strlen(text)));
    check_refused(&s, grid_small, true, RK_ERR_IO, "not a database");
    scratch_remove(&s);
}

/* An empty file, and a file that is not there, are new databases, resumed or not. */
static void test_new_files(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        scratch s;
        assert_true(scratch_make(&s));
        if (i & 1) {
            assert_true(scratch_write(&s, "a.db", "", 0));
        }
        rk_sweep_doc *doc = grid_parse(grid_small);
        const rk_sweep_options options = {.control.sqlite = scratch_path(&s, "a.db"),
                                          .control.resume = (i & 2) != 0};
        assert_int_equal(grid_run(doc, &options).resumed, 0);
        assert_int_equal(query_integer(s.path, "SELECT count(*) FROM results"), 6 * GRID_TOP);
        rk_sweep_doc_free(doc);
        scratch_remove(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_writer),
        cmocka_unit_test(test_database_equals_csv),
        cmocka_unit_test(test_kill_between_points),
        cmocka_unit_test(test_kill_at_random_moments),
        cmocka_unit_test(test_kill_again_and_again),
        cmocka_unit_test(test_nothing_twice),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_new_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
