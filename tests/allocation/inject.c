/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs commands with one failing allocation each, and says what became of them.
 *
 *     inject RECKON SHIM COMMANDS SAMPLES [NAME...]
 *
 * COMMANDS has a command a line: its name, ": " and the arguments of reckon; behind "=" in the name
 * are the blocks that it may leave (1).  A word that begins with OUT is a file that the command
 * writes, in a folder for that ("OUT.json"): complete or not at all, unless it grows row by row
 * (GROWS.csv).  Of a command with N allocations, SAMPLES are failed, spread evenly over 1 to N; 0:
 * all of them, or where there are more than 5,000 that many and the first one of each place in the
 * program; "places": the first one of each place where no command before it has failed.  With
 * NAMEs, only these commands run.  A command has to end in one of two ways:
 *
 *     refused   status 2, the error RK_ERR_MEMORY (or of a file, for want of memory), and no file
 *     harmless  status, output and file as without the failure
 *
 * Lines that report processor time are not compared.  Anything else is reported, and the exit
 * status is 1.
 */
#include "reckon/base.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 64, REFUSED = 2, MOST = 5000 };

struct text {
    char *bytes; /* NULL: no file */
    size_t size;
};

struct outcome {
    int status; /* as of waitpid */
    struct text out, err, file;
    long allocations, left; /* blocks that are not freed at the end */
    struct text count;      /* of the shim: these two, and the first allocation of each place */
};

struct command {
    char *name, *words[WORDS + 1];
    char *file;               /* what it writes; NULL: nothing */
    bool grows;               /* and leaves incomplete when it is stopped */
    struct outcome reference; /* without a failure */
    long may_leave; /* blocks: the buffer of a stream, and what libraries and threads keep */
    pid_t server;
    int requests, answers; /* pipes to the server and back */
};

static const char *reckon, *shim;
static char folder[] = "/tmp/reckon-inject-XXXXXX";
static char out_path[64], err_path[64], count_path[64];

static void stop(const char *what)
{
    (void)fprintf(stderr, "inject: %s: %s\n", what, strerror(errno));
    exit(2);
}

static struct text read_text(const char *path)
{
    struct text text = {0};
    struct stat info;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return text;
    }
    if (fstat(file, &info) || !(text.bytes = malloc((size_t)info.st_size + 1))) {
        stop(path);
    }
    while (text.size < (size_t)info.st_size) {
        const ssize_t got = read(file, text.bytes + text.size, (size_t)info.st_size - text.size);
        if (got <= 0) {
            break;
        }
        text.size += (size_t)got;
    }
    text.bytes[text.size] = '\0';
    (void)close(file);
    return text;
}

static void free_outcome(struct outcome *outcome)
{
    free(outcome->out.bytes);
    free(outcome->err.bytes);
    free(outcome->file.bytes);
    free(outcome->count.bytes);
}

/* Starts the program of a command, which waits for numbers: see fail_allocation.c. */
static void start(struct command *command)
{
    int requests[2], answers[2];
    if (pipe(requests) || pipe(answers)) {
        stop("pipe");
    }
    command->server = fork();
    if (command->server < 0) {
        stop("fork");
    }
    if (command->server == 0) {
        char number[2][16];
        const struct rlimit no_core = {0, 0};
        const int none = open("/dev/null", O_RDONLY);
        (void)setrlimit(RLIMIT_CORE, &no_core);
        (void)dup2(none, STDIN_FILENO);
        (void)close(requests[1]);
        (void)close(answers[0]);
        (void)snprintf(number[0], sizeof(number[0]), "%d", requests[0]);
        (void)snprintf(number[1], sizeof(number[1]), "%d", answers[1]);
        (void)setenv("FAIL_REQUESTS", number[0], 1);
        (void)setenv("FAIL_ANSWERS", number[1], 1);
        (void)setenv("FAIL_OUT", out_path, 1);
        (void)setenv("FAIL_ERR", err_path, 1);
        (void)setenv("FAIL_COUNT", count_path, 1);
        (void)setenv("LD_PRELOAD", shim, 1);
        (void)execv(reckon, command->words);
        _exit(127);
    }
    (void)close(requests[0]);
    (void)close(answers[1]);
    command->requests = requests[1];
    command->answers = answers[0];
}

static void finish(struct command *command)
{
    (void)close(command->requests);
    (void)close(command->answers);
    (void)waitpid(command->server, NULL, 0);
}

/* Runs a command whose allocation number `failing` fails; 0: none, and they are counted. */
static struct outcome run(const struct command *command, long failing)
{
    struct outcome outcome = {0};
    if (command->file) {
        (void)unlink(command->file);
    }
    (void)unlink(count_path);
    if (write(command->requests, &failing, sizeof(failing)) != (ssize_t)sizeof(failing) ||
        read(command->answers, &outcome.status, sizeof(outcome.status)) !=
            (ssize_t)sizeof(outcome.status)) {
        stop(command->name);
    }
    outcome.out = read_text(out_path);
    outcome.err = read_text(err_path);
    if (command->file) {
        outcome.file = read_text(command->file);
    }
    outcome.count = read_text(count_path); /* nothing of a program that was killed */
    if (outcome.count.bytes) {
        (void)sscanf(outcome.count.bytes, "%ld %ld", &outcome.allocations, &outcome.left);
    }
    return outcome;
}

/* The end of the line at `at`. */
static size_t line_end(const struct text *text, size_t at)
{
    const char *end = at < text->size ? memchr(text->bytes + at, '\n', text->size - at) : NULL;
    return end ? (size_t)(end - text->bytes) + 1 : text->size;
}

/* Whether a line reports how long something took. */
static bool tells_time(const char *line, size_t size)
{
    static const char *const words[] = {" s of processor time", "\"processor_time_s\"",
                                        " calcs/sec"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (memmem(line, size, words[i], strlen(words[i]))) {
            return true;
        }
    }
    return false;
}

/* Whether two texts have the same lines, or there is neither. */
static bool same_text(const struct text *mine, const struct text *reference)
{
    size_t at = 0, place = 0;
    if (!mine->bytes || !reference->bytes) {
        return !mine->bytes && !reference->bytes;
    }
    while (at < mine->size && place < reference->size) {
        const char *line = mine->bytes + at, *wanted = reference->bytes + place;
        const size_t size = line_end(mine, at) - at;
        const size_t length = line_end(reference, place) - place;
        if ((size != length || memcmp(line, wanted, size) != 0) &&
            !(tells_time(line, size) && tells_time(wanted, length))) {
            return false;
        }
        at += size;
        place += length;
    }
    return at == mine->size && place == reference->size;
}

static bool is_harmless(const struct command *command, const struct outcome *outcome)
{
    const struct outcome *reference = &command->reference;
    return outcome->status == reference->status && same_text(&outcome->out, &reference->out) &&
           same_text(&outcome->file, &reference->file);
}

/* glibc itself ends a program whose loaded library gets no room for its thread-local data. */
static bool is_ended_by_glibc(const struct outcome *outcome)
{
    return WEXITSTATUS(outcome->status) == 127 &&
           strstr(outcome->err.bytes, "cannot allocate memory for thread-local data");
}

static bool is_refused(const struct command *command, const struct outcome *outcome)
{
    return WIFEXITED(outcome->status) &&
           (WEXITSTATUS(outcome->status) == REFUSED || is_ended_by_glibc(outcome)) &&
           outcome->err.size > 0 && (command->grows || !outcome->file.bytes);
}

/* Whether the error is RK_ERR_MEMORY, or of a file for want of memory; another one misleads. */
static bool is_of_memory(const struct outcome *outcome)
{
    const char *text = outcome->err.bytes, *coded = strstr(text, "error ");
    return coded && coded[6] == '0' + RK_ERR_MEMORY
               ? strstr(text, "memory") != NULL
               : (!coded || coded[6] == '0' + RK_ERR_IO) &&
                     (strstr(text, "not enough memory") || strstr(text, "out of memory") ||
                      strstr(text, "annot allocate memory"));
}

static void complain(const struct command *command, long failing, const struct outcome *outcome)
{
    if (WIFSIGNALED(outcome->status)) {
        const int number = WTERMSIG(outcome->status);
        printf("%s: allocation %ld: %s\n", command->name, failing,
               number == SIGALRM ? "hangs" : strsignal(number));
    } else {
        printf("%s: allocation %ld: another answer, status %d\n", command->name, failing,
               WEXITSTATUS(outcome->status));
    }
    if (outcome->err.size > 0) {
        printf("    %.300s\n", outcome->err.bytes);
    }
}

/* Whether it keeps blocks that it should have freed. */
static bool leaks(const struct command *command, long failing, const struct outcome *outcome)
{
    if (outcome->left > command->may_leave) {
        printf("%s: allocation %ld: %ld blocks are never freed, %ld may be\n", command->name,
               failing, outcome->left, command->may_leave);
    }
    return outcome->left > command->may_leave;
}

/* Splits a line into the words of a command. */
static bool parse_command(char *line, struct command *command)
{
    char *rest = strstr(line, ": ");
    int count = 1;
    if (line[0] == '#' || !rest) {
        return false;
    }
    *rest = '\0';
    const char *leaves = strchr(line, '=');
    *command =
        (struct command){.name = line, .may_leave = leaves ? strtol(leaves + 1, NULL, 10) : 1};
    command->words[0] = (char *)(size_t)reckon;
    for (char *word = strtok(rest + 2, " \n"); word && count < WORDS; word = strtok(NULL, " \n")) {
        const bool grows = strncmp(word, "GROWS", 5) == 0;
        if (grows || strncmp(word, "OUT", 3) == 0) {
            char path[128];
            (void)snprintf(path, sizeof(path), "%s/%s", folder, word);
            word = command->file = strdup(path);
            if (!word) {
                stop("strdup");
            }
            command->grows = grows;
        }
        command->words[count++] = word;
    }
    return true;
}

static bool refer(struct command *command)
{
    command->reference = run(command, 0);
    const int status = command->reference.status;
    if (!WIFEXITED(status) || WEXITSTATUS(status) >= REFUSED) {
        printf("%s: fails without a failing allocation: %s\n", command->name,
               command->reference.err.bytes);
        return false;
    }
    return command->reference.allocations > 0 && !leaks(command, 0, &command->reference);
}

/* Whether a place is new to all commands. */
static bool is_new(uint64_t place)
{
    static uint64_t *seen;
    static size_t count;
    for (size_t i = 0; i < count; i++) {
        if (seen[i] == place) {
            return false;
        }
    }
    seen = realloc(seen, (count + 1) * sizeof(*seen));
    if (!seen) {
        stop("realloc");
    }
    seen[count++] = place;
    return true;
}

/* Which allocations to fail: the caller frees the list. */
static long *choose(const struct outcome *reference, const char *samples, long *count)
{
    const bool places = strcmp(samples, "places") == 0;
    const long all = reference->allocations, wanted = strtol(samples, NULL, 10);
    const long most = wanted > 0 ? wanted : MOST, spread = places ? 0 : all < most ? all : most;
    long *chosen = calloc((size_t)(all + spread), sizeof(*chosen));
    if (!chosen) {
        stop("calloc");
    }
    for (*count = 0; *count < spread; (*count)++) {
        chosen[*count] = 1 + (spread > 1 ? *count * (all - 1) / (spread - 1) : 0);
    }
    const char *at = places || (wanted == 0 && all > MOST) ? reference->count.bytes : "";
    while ((at = strchr(at, ':'))) {
        const char *number = at++;
        while (number[-1] != ' ') {
            number--;
        }
        chosen[*count] = strtol(number, NULL, 10);
        *count += !places || is_new(strtoull(at, NULL, 16));
    }
    return chosen;
}

/* Returns how many failures went wrong. */
static long inject(struct command *command, const char *samples, long *injected)
{
    long refused = 0, harmless = 0, misleading = 0, wrong = 0, count = 0;
    start(command);
    if (!refer(command)) {
        finish(command);
        return 1;
    }
    long *chosen = choose(&command->reference, samples, &count);
    for (long i = 0; i < count; i++) {
        struct outcome outcome = run(command, chosen[i]);
        wrong += leaks(command, chosen[i], &outcome);
        if (is_harmless(command, &outcome)) {
            harmless++;
        } else if (is_refused(command, &outcome)) {
            refused++;
            if (!is_of_memory(&outcome)) {
                misleading++;
                printf("%s: allocation %ld: %.300s", command->name, chosen[i], outcome.err.bytes);
            }
        } else {
            wrong++;
            complain(command, chosen[i], &outcome);
        }
        free_outcome(&outcome);
    }
    printf("%-20s %8ld allocations, %6ld failed: %6ld refused, %4ld harmless, %3ld misleading, "
           "%ld wrong\n",
           command->name, command->reference.allocations, count, refused, harmless, misleading,
           wrong);
    (void)fflush(stdout);
    *injected += count;
    finish(command);
    free(chosen);
    free_outcome(&command->reference);
    free(command->file);
    return wrong + misleading;
}

static bool is_chosen(const char *name, int count, char **names)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return count == 0;
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t size = 0;
    long wrong = 0, injected = 0;
    if (argc < 5) {
        (void)fputs("usage: inject RECKON SHIM COMMANDS SAMPLES [NAME...]\n", stderr);
        return 2;
    }
    reckon = argv[1];
    shim = argv[2];
    (void)setenv("LC_ALL", "C", 1);
    FILE *commands = fopen(argv[3], "r");
    if (!commands) {
        stop(argv[3]);
    }
    if (!mkdtemp(folder)) {
        stop(folder);
    }
    (void)snprintf(out_path, sizeof(out_path), "%s/out", folder);
    (void)snprintf(err_path, sizeof(err_path), "%s/err", folder);
    (void)snprintf(count_path, sizeof(count_path), "%s/count", folder);
    while (getline(&line, &size, commands) > 0) {
        struct command command;
        if (parse_command(line, &command) && is_chosen(command.name, argc - 5, argv + 5)) {
            wrong += inject(&command, argv[4], &injected);
        }
    }
    printf("%ld failed allocations, %ld of them not as they should be\n", injected, wrong);
    free(line);
    (void)fclose(commands);
    (void)unlink(out_path);
    (void)unlink(err_path);
    (void)unlink(count_path);
    (void)rmdir(folder);
    return wrong > 0;
}
