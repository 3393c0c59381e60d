# SPDX-License-Identifier: Apache-2.0
# Completion of reckon for bash: the program itself knows what may stand where.
_reckon()
{
    local IFS=$'\n'
    COMPREPLY=($("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _reckon reckon
