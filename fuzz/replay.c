/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target on the files given as arguments, and on the files in the folders given, with
 * any compiler: the corpus as a regression test.
 */
#include "target.h"

#include <dirent.h>
#include <string.h>

static int replay_file(const char *path)
{
    enum { MOST = 1 << 20 };
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(MOST);
    if (!file || !data) {
        (void)fprintf(stderr, "replay: cannot read %s\n", path);
        exit(1);
    }
    size_t size = fread(data, 1, MOST, file);
    (void)fclose(file);

    /* A block of the exact size, so that reading past its end is noticed. */
    uint8_t *exact = realloc(data, size ? size : 1);
    if (!exact) {
        exit(1);
    }
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 1;
}

static int replay_folder(const char *path, DIR *folder)
{
    char name[4096];
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] != '.') {
            (void)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
            count += replay_file(name);
        }
    }
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        count += folder ? replay_folder(argv[i], folder) : replay_file(argv[i]);
        if (folder) {
            (void)closedir(folder);
        }
    }
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
