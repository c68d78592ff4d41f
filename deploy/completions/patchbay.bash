# Completion of patchbay for bash: `patchbay completion bash` prints this file.
_patchbay() {
  local kind
  { read -r kind && mapfile -t COMPREPLY; } \
    < <(patchbay __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
  case $kind in
    files) compopt -o default ;;
    directories) compopt -o dirnames ;;
  esac
}
complete -F _patchbay patchbay
