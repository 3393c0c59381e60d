/* SPDX-License-Identifier: Apache-2.0 */
/* What the caller of a job states, so that the question of a report can be asked again. */
#ifndef RK_JOB_STATED_OPTIONS_H
#define RK_JOB_STATED_OPTIONS_H

#include "base/bytes.h"
#include "job/job.h"

/* All but the form of the answer.  All zero is nothing; the words are released by rk_bytes_clear.
 */
typedef struct rk_stated {
    bool options[RK_OPTION_MAX];
    rk_bytes words; /* of a command line, terminated */
    bool more;      /* they say more than options can: flags of a framework */
} rk_stated;

void rk_stated_word(rk_stated *stated, const char *word);

/* States option `i` of a command under one of its names. */
void rk_stated_option(rk_stated *stated, const rk_command *command, size_t i, const char *name,
                      const char *value);

/* States a launch line among the words of a command line. */
void rk_stated_line(rk_stated *stated, const rk_command *command, const char *const *words,
                    size_t count);

/*
 * Fills the place "question" of a page, if the output is one: {"command", "words", "request"}.  The
 * request is that of rk_answer_request, with the text of documents and of the launch in place of
 * their names.  It is absent if the words say more than options can; files that a launch names stay
 * names.
 */
void rk_job_write_question(const rk_job *job, rk_out *out);

#endif
