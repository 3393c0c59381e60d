# SPDX-License-Identifier: Apache-2.0
# Completion of reckon for fish: the program itself knows what may stand where.
function __reckon_complete
    set -l words (commandline -opc) (commandline -ct)
    $words[1] __complete $words[2..-1] 2>/dev/null
end
complete -c reckon -a '(__reckon_complete)'
