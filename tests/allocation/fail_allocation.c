/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a program, runs it again and again with one failing allocation each.  Before main,
 * the program reads numbers N (long, binary) from FAIL_REQUESTS, and forks a copy of itself for
 * each, whose N-th allocation fails (0: none, and the copy writes how many there were to
 * FAIL_COUNT, how many blocks are left, and NUMBER:PLACE for the first allocation of each place: a
 * function and its callers, by what they are in their files).  Its output goes to FAIL_OUT and
 * FAIL_ERR; its status, as of waitpid, is sent to FAIL_ANSWERS.  Requests and answers are file
 * descriptors, the others are files.
 *
 * FAIL_ALLOCATION=N alone does the same once, for a debugger:
 *
 *     gdb -ex 'set environment LD_PRELOAD SHIM' -ex 'set environment FAIL_ALLOCATION 7' ...
 *
 * The C library's own allocations (of streams, of folders) count as well; those after main, such as
 * gcov's, do not.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* What glibc calls its allocator besides. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);
extern long __sysconf(int name);

#define EXPORTED __attribute__((visibility("default")))

enum {
    SECONDS = 60, /* a copy that hangs dies of SIGALRM */
    DEPTH = 4,    /* callers that tell places apart */
    OWN = 2,      /* functions of this file among them */
    ROOM = 4096,  /* for places, a power of two */
};

static atomic_long calls, held; /* blocks that are not freed */
static long failing;            /* 0: none */
static _Thread_local bool looking;
static struct {
    uint64_t callers, named; /* hashed: addresses, and places in files; 0: empty */
    long first;
} places[ROOM];
static size_t place_count;
static atomic_flag places_are_used = ATOMIC_FLAG_INIT;

static void redirect(const char *variable, int to)
{
    const char *path = getenv(variable);
    const int file = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    if (file < 0 || dup2(file, to) < 0) {
        _exit(126);
    }
    (void)close(file);
}

/* Returns in each copy of the program. */
static void serve(int requests, int answers)
{
    while (read(requests, &failing, sizeof(failing)) == (ssize_t)sizeof(failing)) {
        int status = 0;
        const pid_t copy = fork();
        if (copy == 0) {
            (void)close(requests);
            (void)close(answers);
            redirect("FAIL_OUT", STDOUT_FILENO);
            redirect("FAIL_ERR", STDERR_FILENO);
            (void)alarm(SECONDS);
            return;
        }
        while (copy > 0 && waitpid(copy, &status, 0) < 0 && errno == EINTR) {
        }
        if (copy < 0 || write(answers, &status, sizeof(status)) != (ssize_t)sizeof(status)) {
            _exit(125);
        }
    }
    _exit(0);
}

__attribute__((constructor)) static void start(void)
{
    const char *requests = getenv("FAIL_REQUESTS"), *answers = getenv("FAIL_ANSWERS");
    const char *number = getenv("FAIL_ALLOCATION");
    void *frames[1];
    (void)backtrace(frames, 1); /* which allocates the first time */
    if (requests && answers) {
        serve(atoi(requests), atoi(answers));
    } else if (number) {
        failing = atol(number);
    }
    atomic_store(&calls, 0);
    atomic_store(&held, 0);
}

static void stop(void)
{
    char text[64];
    const long count = atomic_load(&calls), left = atomic_load(&held);
    const char *path = getenv("FAIL_COUNT");
    const int file = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    failing = 0;
    if (file >= 0) {
        int length = snprintf(text, sizeof(text), "%ld %ld", count, left);
        (void)!write(file, text, (size_t)length);
        for (size_t i = 0; i < ROOM; i++) {
            if (places[i].callers) {
                length =
                    snprintf(text, sizeof(text), " %ld:%" PRIx64, places[i].first, places[i].named);
                (void)!write(file, text, (size_t)length);
            }
        }
        (void)close(file);
    }
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * 1099511628211U;
}

/* Callers by their places in the files that they are from, which no run loads elsewhere. */
static uint64_t name_callers(void *const *frames, int count)
{
    uint64_t hash = 1;
    for (int i = 0; i < count; i++) {
        Dl_info info = {0};
        (void)dladdr(frames[i], &info);
        hash = mix(hash, (uintptr_t)frames[i] - (uintptr_t)info.dli_fbase);
        for (const char *at = info.dli_fname; at && *at; at++) {
            hash = mix(hash, (unsigned char)*at);
        }
    }
    return hash;
}

/* Remembers the first allocation of each place. */
static void note_place(long call)
{
    void *frames[OWN + DEPTH];
    uint64_t hash = 1;
    looking = true; /* what backtrace allocates is not counted again */
    const int count = backtrace(frames, OWN + DEPTH);
    for (int i = OWN; i < count; i++) {
        hash = mix(hash, (uintptr_t)frames[i]);
    }
    while (atomic_flag_test_and_set(&places_are_used)) {
    }
    size_t i = (hash ^ hash >> 32) % ROOM;
    while (places[i].callers && places[i].callers != hash) {
        i = (i + 1) % ROOM;
    }
    if (!places[i].callers && place_count < ROOM - 1) {
        places[i].callers = hash;
        places[i].named = name_callers(frames + OWN, count - OWN);
        places[i].first = call;
        place_count++;
    }
    atomic_flag_clear(&places_are_used);
    looking = false;
}

/* The first allocation of main registers `stop`, so that it runs before what ends the program. */
static int fails(void)
{
    const long call = atomic_fetch_add(&calls, 1) + 1;
    if (call == 1 && atexit(stop)) {
        _exit(124);
    }
    if (failing == 0 && !looking) {
        note_place(call);
    }
    if (call != failing) {
        return 0;
    }
    errno = ENOMEM;
    return 1;
}

static void *hold(void *block)
{
    atomic_fetch_add(&held, block != NULL);
    return block;
}

EXPORTED void *malloc(size_t size)
{
    return fails() ? NULL : hold(__libc_malloc(size));
}

EXPORTED void free(void *block)
{
    atomic_fetch_sub(&held, block != NULL);
    __libc_free(block);
}

EXPORTED void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : hold(__libc_calloc(count, size));
}

EXPORTED void *realloc(void *block, size_t size)
{
    void *more = fails() ? NULL : __libc_realloc(block, size);
    atomic_fetch_add(&held, (more && !block) - (!more && block && size == 0));
    return more;
}

EXPORTED void *reallocarray(void *block, size_t count, size_t size)
{
    if (size > 0 && count > (size_t)-1 / size) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, count * size);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : hold(__libc_memalign(alignment, size));
}

EXPORTED int posix_memalign(void **block, size_t alignment, size_t size)
{
    if (fails()) {
        return ENOMEM;
    }
    *block = hold(__libc_memalign(alignment, size));
    return *block ? 0 : ENOMEM;
}

/* Threads, which keep some blocks, would be as many as there are cores. */
EXPORTED long sysconf(int name)
{
    return name == _SC_NPROCESSORS_ONLN ? 1 : __sysconf(name);
}
