# Completion of patchbay for bash. Commands and options are read from `patchbay --help`, so that they match
# the installed program. Resources are read from the configuration.

# Prints the words for a kind of value, named as in the help: RESOURCE, DIR, json|table.
_patchbay_values() {
  local kind=$1 cur=$2
  case $kind in
    *'|'*) mapfile -t COMPREPLY < <(compgen -W "${kind//|/ }" -- "$cur") ;;
    RESOURCE) mapfile -t COMPREPLY < <(compgen -W "$(_patchbay_resources)" -- "$cur") ;;
    DIR)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -d -- "$cur")
      ;;
    FILE | PATH | OLD)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      ;;
  esac
}

_patchbay_resources() {
  local config=${PATCHBAY_CONFIG:-/etc/patchbay} i
  for ((i = 2; i < COMP_CWORD - 1; i++)); do
    [[ ${COMP_WORDS[i]} != -c && ${COMP_WORDS[i]} != --config ]] || config=${COMP_WORDS[i + 1]}
  done
  [[ ! -d $config ]] || config+=/*.toml
  # A directory is a pattern; a name without a slash is not a path.
  # shellcheck disable=SC2086
  sed -nE "s|^[[:space:]]*name[[:space:]]*=[[:space:]]*[\"']([a-z0-9.-]+/[A-Za-z0-9._-]+)[\"'].*|\1|p" \
    $config 2>/dev/null
}

_patchbay() {
  local program=${COMP_WORDS[0]} cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
  local help kind i places=0
  COMPREPLY=()
  # bash splits --output=json into three words.
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = && $COMP_CWORD -gt 2 ]]; then
    prev=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if ((COMP_CWORD == 1)); then
    help=$("$program" --help 2>/dev/null) || return 0
    if [[ $cur == -* ]]; then
      mapfile -t COMPREPLY < <(compgen -W "$(_patchbay_options)" -- "$cur")
    else
      mapfile -t COMPREPLY < <(compgen -W \
        "$(sed -n '/^Subcommands:/,$s/^  \([a-z][a-z-]*\) .*/\1/p' <<<"$help")" -- "$cur")
    fi
    return 0
  fi
  help=$("$program" "${COMP_WORDS[1]}" --help 2>/dev/null) || return 0
  if [[ $prev == -* ]] && kind=$(_patchbay_kind "$prev") && [[ -n $kind ]]; then
    _patchbay_values "$kind" "$cur"
  elif [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_patchbay_options)" -- "$cur")
  else
    for ((i = 2; i < COMP_CWORD; i++)); do
      [[ ${COMP_WORDS[i]} == -* || -n $(_patchbay_kind "${COMP_WORDS[i - 1]}") ]] || ((places++))
    done
    local kinds
    mapfile -t kinds < <(sed -nE '/^Positionals:/,/^$/s/^  [a-z]+ ([A-Z]+).*/\1/p' <<<"$help")
    ((${#kinds[@]})) || return 0
    ((places < ${#kinds[@]})) || places=$((${#kinds[@]} - 1))
    _patchbay_values "${kinds[places]}" "$cur"
  fi
}

# Prints the options of $help, without short ones, which need no completion.
_patchbay_options() { sed -nE 's/^  (-[a-z],)?(--[a-z-]+).*/\2/p' <<<"$help"; }

# Prints the kind of value that an option of $help takes, if any.
_patchbay_kind() {
  [[ $1 =~ ^-[a-z-]+$ ]] || return 0
  sed -nE "s/^  (.*,)?$1(,[^ ]*)? ([A-Z]+|[a-z-]+(\|[a-z-]+)+).*/\3/p" <<<"$help"
}

complete -F _patchbay patchbay
