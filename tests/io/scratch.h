/* SPDX-License-Identifier: Apache-2.0 */
/* A scratch folder and small files in it, for tests that need a file system. */
#ifndef RK_TESTS_FORMATS_SCRATCH_H
#define RK_TESTS_FORMATS_SCRATCH_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct scratch {
    char folder[64];
    char path[512]; /* of the file named last */
} scratch;

static inline bool scratch_make(scratch *s)
{
    (void)snprintf(s->folder, sizeof(s->folder), "/tmp/reckon-test-XXXXXX");
    return mkdtemp(s->folder) != NULL;
}

/* Returns the path of `name` in the folder, valid until the next call. */
static inline const char *scratch_path(scratch *s, const char *name)
{
    (void)snprintf(s->path, sizeof(s->path), "%s/%s", s->folder, name);
    return s->path;
}

static inline bool scratch_write(scratch *s, const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(scratch_path(s, name), "wb");
    const bool good = file && fwrite(bytes, 1, size, file) == size;
    return file && fclose(file) == 0 && good;
}

/* Reads a whole file into a terminated string, which the caller frees; NULL when it cannot. */
static inline char *scratch_read(const char *path, size_t *size)
{
    enum { MOST = 1 << 20 };
    FILE *file = fopen(path, "rb");
    char *text = file ? malloc(MOST) : NULL;
    *size = 0;
    if (text) {
        *size = fread(text, 1, MOST - 1, file);
        text[*size] = '\0';
    }
    if (file) {
        (void)fclose(file);
    }
    return text;
}

/* Counts the files in the folder. */
static inline int scratch_count(const scratch *s)
{
    DIR *folder = opendir(s->folder);
    int count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    if (folder) {
        (void)closedir(folder);
    }
    return count;
}

/* Removes the folder and the files in it. */
static inline void scratch_remove(scratch *s)
{
    DIR *folder = opendir(s->folder);
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] != '.') {
            (void)unlink(scratch_path(s, entry->d_name));
        }
    }
    if (folder) {
        (void)closedir(folder);
    }
    (void)rmdir(s->folder);
}

#endif
