# bash complete.bash DIRECTORY WORD...: what bash completes of the last word, one to a line.
source "$1/patchbay.bash"
shift
# Within a completion, bash itself completes names of files then.
compopt() {
  local -A action=([default]=-f [dirnames]=-d)
  compgen "${action[$2]}" -- "${COMP_WORDS[COMP_CWORD]}"
}
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
"$(complete -p "$1" | sed 's/.* -F \([^ ]*\) .*/\1/')" "$1" "${!#}"
printf '%s\n' "${COMPREPLY[@]}"
