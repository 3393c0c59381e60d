/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a program, runs it again and again with one failing allocation each.  Before main,
 * the program reads numbers N (long, binary) from FAIL_REQUESTS, and forks a copy of itself for
 * each, whose N-th allocation fails (0: none, and the copy writes how many there were to
 * FAIL_COUNT).  Its output goes to FAIL_OUT and FAIL_ERR; its status, as of waitpid, is sent to
 * FAIL_ANSWERS.  Requests and answers are file descriptors, the others are files.
 *
 * FAIL_ALLOCATION=N alone does the same once, for a debugger:
 *
 *     gdb -ex 'set environment LD_PRELOAD SHIM' -ex 'set environment FAIL_ALLOCATION 7' ...
 *
 * The C library's own allocations (of streams, of folders) count as well; those after main, such as
 * gcov's, do not.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
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

enum { SECONDS = 60 }; /* a copy that hangs dies of SIGALRM */

static atomic_long calls, held; /* blocks that are not freed */
static long failing;            /* 0: none */

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
        const int length = snprintf(text, sizeof(text), "%ld %ld\n", count, left);
        (void)!write(file, text, (size_t)length);
        (void)close(file);
    }
}

/* The first allocation of main registers `stop`, so that it runs before what ends the program. */
static int fails(void)
{
    const long call = atomic_fetch_add(&calls, 1) + 1;
    if (call == 1 && atexit(stop)) {
        _exit(124);
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
