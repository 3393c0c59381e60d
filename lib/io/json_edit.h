/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changing single values in the text of a JSON document, so that everything else stays byte for
 * byte: order of keys, blanks, the way numbers are written.
 */
#ifndef RK_IO_JSON_EDIT_H
#define RK_IO_JSON_EDIT_H

#include "reckon/reckon.h"

/*
 * Sets the value at `path` ("gemm.bf16.feed", "tiers[0].efficiency") to `value`, which is JSON
 * text.  A member that its object lacks is added: in front of the remarks ("source"...) when it is
 * a number, else at the end, indented as the others.  *text is well-formed JSON, owned by the
 * caller, and replaced.  Fails when the object of the member does not exist.
 */
rk_status rk_json_edit(char **text, const char *path, const char *value, rk_error *err);

#endif
