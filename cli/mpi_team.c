/* SPDX-License-Identifier: Apache-2.0 */
/* Team messages over MPI: non-blocking sends, polling receives, and an orderly end. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "mpi_team.h"

#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TAG       7
#define CORES_MAX CPU_SETSIZE

/* A message that MPI is still sending. */
struct parcel {
    MPI_Request request;
    void *data; /* owned */
    struct parcel *next;
};

/* Sends and receives the messages of the team. */
struct carrier {
    rk_team team;
    MPI_Comm ranks;
    struct parcel *parcels; /* owned list */
    double *cpu_s;          /* owned */
};

/* ---- messages -------------------------------------------------------------------------------- */

/* Frees the messages that have been sent. */
static void free_parcels(struct carrier *carrier)
{
    struct parcel **place = &carrier->parcels;
    while (*place) {
        struct parcel *parcel = *place;
        int gone = 0;
        if (MPI_Test(&parcel->request, &gone, MPI_STATUS_IGNORE) != MPI_SUCCESS || gone) {
            *place = parcel->next;
            free(parcel->data);
            free(parcel);
        } else {
            place = &parcel->next;
        }
    }
}

/* A message that cannot be sent is dropped; the other side notices the silence. */
static void send(void *context, int to, const void *data, size_t size)
{
    struct carrier *carrier = context;
    struct parcel *parcel = calloc(1, sizeof(*parcel));
    void *copy = malloc(size);
    free_parcels(carrier);
    if (!parcel || !copy || size > INT_MAX) {
        free(parcel);
        free(copy);
        return;
    }
    memcpy(copy, data, size);
    *parcel = (struct parcel){.data = copy, .next = carrier->parcels};
    if (MPI_Isend(copy, (int)size, MPI_BYTE, to, TAG, carrier->ranks, &parcel->request) !=
        MPI_SUCCESS) {
        free(parcel);
        free(copy);
        return;
    }
    carrier->parcels = parcel;
}

static void *receive(void *context, int *from, size_t *size)
{
    struct carrier *carrier = context;
    MPI_Status status;
    int arrived = 0, count = 0;
    free_parcels(carrier);
    if (MPI_Iprobe(MPI_ANY_SOURCE, TAG, carrier->ranks, &arrived, &status) != MPI_SUCCESS ||
        !arrived || MPI_Get_count(&status, MPI_BYTE, &count) != MPI_SUCCESS || count < 0) {
        return NULL;
    }
    *from = status.MPI_SOURCE;
    *size = (size_t)count;
    void *data = malloc((size_t)count + 1);
    if (data && MPI_Recv(data, count, MPI_BYTE, *from, TAG, carrier->ranks, MPI_STATUS_IGNORE) !=
                    MPI_SUCCESS) {
        free(data);
        data = NULL;
    }
    return data;
}

/* ---- beginning and ending -------------------------------------------------------------------- */

/* Cores of this machine, each divided among the ranks that may use it.  All ranks take part. */
static int count_cores(const struct carrier *carrier)
{
    int mine[CORES_MAX] = {0}, all[CORES_MAX] = {0};
    MPI_Comm node;
    cpu_set_t cores;
    double share = 0;
    if (sched_getaffinity(0, sizeof(cores), &cores) != 0) {
        CPU_ZERO(&cores);
    }
    for (int i = 0; i < CORES_MAX; i++) {
        mine[i] = CPU_ISSET((size_t)i, &cores) != 0;
    }
    if (MPI_Comm_split_type(carrier->ranks, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) !=
        MPI_SUCCESS) {
        return 1;
    }
    (void)MPI_Allreduce(mine, all, CORES_MAX, MPI_INT, MPI_SUM, node);
    (void)MPI_Comm_free(&node);
    for (int i = 0; i < CORES_MAX; i++) {
        share += mine[i] && all[i] > 0 ? 1.0 / all[i] : 0;
    }
    return share >= 1 ? (int)(share + 1e-6) : 1;
}

/*
 * On one machine shared memory carries all messages.  Open MPI 4 would try every network that it
 * was built for, and the ranks would then wait 0.2 s to agree.  What the user has set is kept.
 * Later versions call the transport by another name, and are left as they are.
 */
static void prefer_shared_memory(void)
{
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION == 4
    const char *size = getenv("OMPI_COMM_WORLD_SIZE"),
               *local = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (size && local && strcmp(size, local) == 0) {
        (void)setenv("OMPI_MCA_pml", "ob1", 0);
        (void)setenv("OMPI_MCA_btl", "self,vader", 0);
    }
#endif
}

static rk_team *begin(void)
{
    int level, rank = 0, size = 1;
    struct carrier *carrier = calloc(1, sizeof(*carrier));
    prefer_shared_memory();
    if (!carrier || MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS ||
        MPI_Comm_dup(MPI_COMM_WORLD, &carrier->ranks) != MPI_SUCCESS) {
        free(carrier);
        return NULL;
    }
    (void)MPI_Comm_set_errhandler(carrier->ranks, MPI_ERRORS_RETURN);
    (void)MPI_Comm_rank(carrier->ranks, &rank);
    (void)MPI_Comm_size(carrier->ranks, &size);
    carrier->cpu_s = calloc((size_t)size, sizeof(*carrier->cpu_s));
    carrier->team = (rk_team){.rank = rank,
                              .size = size,
                              .cores = count_cores(carrier),
                              .cpu_s = carrier->cpu_s,
                              .context = carrier,
                              .send = send,
                              .receive = receive};
    return &carrier->team;
}

static void nap(void)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    (void)nanosleep(&pause, NULL);
}

/* A rank that finishes early waits for the others without keeping a core busy. */
static void wait_for_all(struct carrier *carrier)
{
    MPI_Request request;
    int done = 0;
    if (MPI_Ibarrier(carrier->ranks, &request) != MPI_SUCCESS) {
        return;
    }
    while (!done && MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS) {
        free_parcels(carrier);
        if (!done) {
            nap();
        }
    }
}

static void end(rk_team *team, int status)
{
    struct carrier *carrier = team->context;
    if (team->broken) {
        (void)fflush(NULL);
        (void)MPI_Abort(carrier->ranks, status);
        _Exit(status);
    }
    wait_for_all(carrier);
    while (carrier->parcels) { /* left over for a rank that has ended without reading it */
        struct parcel *parcel = carrier->parcels;
        carrier->parcels = parcel->next;
        (void)MPI_Cancel(&parcel->request);
        (void)MPI_Request_free(&parcel->request);
        free(parcel->data);
        free(parcel);
    }
    (void)MPI_Comm_free(&carrier->ranks);
    (void)MPI_Finalize();
    free(carrier->cpu_s);
    free(carrier);
}

__attribute__((visibility("default"))) extern const rk_mpi rk_mpi_module;
const rk_mpi rk_mpi_module = {.begin = begin, .end = end};
