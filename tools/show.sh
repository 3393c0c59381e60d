# SPDX-License-Identifier: Apache-2.0
# For the scripts that write pages of examples; $reckon is the command.

# Shows a command, broken before options, and its answer; that nothing fits is an answer too.
show()
{
    line="$ reckon"
    echo '```'
    piece=
    for word in "$@" --; do
        case $word in
        --*)
            if [ $((${#line} + ${#piece})) -gt 96 ]; then
                printf '%s \\\n' "$line"
                line="     "
            fi
            line="$line$piece"
            piece=
            ;;
        esac
        piece="$piece $word"
    done
    echo "$line"
    "$reckon" "$@" || test $? -eq 1
    echo '```'
}
