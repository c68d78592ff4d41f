# Completion of patchbay for bash: `patchbay completion bash` prints this file.
# Resources are read from the configuration.

# Prints the help of a command, or of the program if it is "".
# shellcheck disable=SC2016
_patchbay_help() {
  case $1 in
    "")
      printf '%s\n' \
        'Options:' \
        '  -h,--help  print this help' \
        '  --version  print the version' \
        'Subcommands:' \
        '  run  serve the configured resources to the kubelet' \
        '  check  report every error in the configuration' \
        '  devices  list what would be advertised on this host' \
        '  explain  explain why a device is or is not advertised' \
        '  allocate  show what a container would get' \
        '  diff  show what a reload from one file to another would change' \
        '  device-classes  print the DeviceClasses of resources with api = "dra"' \
        '  schema  print the JSON Schema of the configuration, for editors' \
        '  convert  convert another plugin'\''s configuration to Patchbay TOML' \
        '  try  run everything against the built-in kubelet' \
        '  completion  print the completion script of a shell' \
        '  version  print the version'
      ;;
    run)
      printf '%s\n' \
        'Options:' \
        '  -h,--help  print this help' \
        '  --listen ADDRESS:PORT  HTTP address for metrics and health (default: listen of the file, otherwise [::]:9478)' \
        '  --log-level debug|info|warning|error  minimum log level (default: log_level of the file, otherwise info)' \
        '  --log-format text|json  log format (default: text)' \
        '  --kubelet-dir DIR  the kubelet'\''s device plugin directory; default: kubelet_dir of the file, otherwise /var/lib/kubelet/device-plugins' \
        '  --wait-for-config  if the configuration is missing or invalid, wait for a valid one instead of exiting' \
        '  --allow-other-server  in a pod, let server of [daemon.kubernetes] be another API server than the pod'\''s' \
        '  -c,--config PATH  configuration, a file or a directory; also PATCHBAY_CONFIG' \
        '  --host-root DIR  directory where the host'\''s root file system is mounted; default: host_root of the file, otherwise /'
      ;;
    check)
      printf '%s\n' \
        'Options:' \
        '  -h,--help  print this help' \
        '  --strict  treat warnings as errors' \
        '  -o,--output table|json|yaml  output format (default: table)' \
        '  -c,--config PATH  configuration, a file or a directory; also PATCHBAY_CONFIG' \
        'Positionals:' \
        '  file FILE ...  files and directories, - for stdin; default: --config'
      ;;
    devices)
      printf '%s\n' \
        'Options:' \
        '  -h,--help  print this help' \
        '  --probe  run the health probe of each device once' \
        '  -o,--output table|json|yaml|name  output format; name: device IDs only (default: table)' \
        '  -c,--config PATH  configuration, a file or a directory; also PATCHBAY_CONFIG' \
        '  --host-root DIR  directory where the host'\''s root file system is mounted; default: host_root of the file, otherwise /' \
        'Positionals:' \
        '  resource RESOURCE  only this resource'
      ;;
    explain)
      printf '%s\n' \
        'Options:' \
        '  -h,--help  print this help' \
        '  --path PATH  explain only this path, device ID or device name' \
        '  --exit-code  exit with 1 if a resource has no device, or if none lists the path' \
        '  -o,--output table|json|yaml  output format (default: table)' \
        '  -c,--config PATH  configuration, a file or a directory; also PATCHBAY_CONFIG' \
        '  --host-root DIR  directory where the host'\''s root file system is mounted; default: host_root of the file, otherwise /' \
        'Positionals:' \
        '  resource RESOURCE  only this resource'
      ;;
    allocate)
      printf '%s\n' \
        'Options:' \
        '  -h,--help  print this help' \
        '  --count N  number of units; for DRA, of devices (default: 1)' \
        '  -o,--output table|json|yaml  output format (default: table)' \
        '  -c,--config PATH  configuration, a file or a directory; also PATCHBAY_CONFIG' \
        '  --host-root DIR  directory where the host'\''s root file system is mounted; default: host_root of the file, otherwise /' \
        'Positionals:' \
        '  resource RESOURCE  name of the resource' \
        '  id ID ...  IDs or names in slices'
      ;;
    diff)
      printf '%s\n' \
        'Options:' \
        '  -h,--help  print this help' \
        '  -o,--output table|json|yaml  output format (default: table)' \
        'Positionals:' \
        '  old FILE  current configuration' \
        '  new FILE  new configuration'
      ;;
    device-classes)
      printf '%s\n' \
        'Options:' \
        '  -h,--help  print this help' \
        '  -o,--output yaml|json|name  output format; name: names of the classes only (default: yaml)' \
        '  -c,--config PATH  configuration, a file or a directory; also PATCHBAY_CONFIG' \
        'Positionals:' \
        '  resource RESOURCE ...  only these resources'
      ;;
    schema)
      printf '%s\n' \
        'Options:' \
        '  -h,--help  print this help'
      ;;
    convert)
      printf '%s\n' \
        'Options:' \
        '  -h,--help  print this help' \
        '  --from generic-device-plugin|smarter-device-manager  plugin to convert from' \
        '  --domain DOMAIN  domain of the resources; default: as in the file' \
        '  -o,--output toml|helm  TOML, or values for the Helm chart that contain it (default: toml)' \
        '  --host-root DIR  inspect this node'\''s /dev to distinguish devices from directories' \
        'Positionals:' \
        '  file FILE  its config file, or Kubernetes manifests containing it; - for stdin'
      ;;
    try)
      printf '%s\n' \
        'Options:' \
        '  -h,--help  print this help' \
        '  --listen ADDRESS:PORT  HTTP address for metrics and health; default: a free port of 127.0.0.1' \
        '  --log-level debug|info|warning|error  minimum log level (default: warning)' \
        '  --log-format text|json  log format (default: text)' \
        '  --once  probe each device once, print the report and exit' \
        '  -c,--config PATH  configuration, a file or a directory; also PATCHBAY_CONFIG' \
        '  --host-root DIR  directory where the host'\''s root file system is mounted; default: host_root of the file, otherwise /'
      ;;
    completion)
      printf '%s\n' \
        'Options:' \
        '  -h,--help  print this help' \
        'Positionals:' \
        '  shell bash|zsh|fish  the shell'
      ;;
    version)
      printf '%s\n' \
        'Options:' \
        '  -h,--help  print this help'
      ;;
  esac
}

# Completes a kind of value, named as in the help: RESOURCE, DIR, json|table.
_patchbay_values() {
  local kind=$1 cur=$2
  case $kind in
    *'|'*) mapfile -t COMPREPLY < <(compgen -W "${kind//|/ }" -- "$cur") ;;
    RESOURCE) mapfile -t COMPREPLY < <(compgen -W "$(_patchbay_resources)" -- "$cur") ;;
    DIR)
      compopt -o filenames 2>/dev/null
      _patchbay_names -d "$cur"
      ;;
    FILE | PATH)
      compopt -o filenames 2>/dev/null
      _patchbay_names -f "$cur"
      ;;
  esac
}

# Completes names of files or directories. compgen prints one per line, so a name with a newline
# looks like several, which do not exist.
_patchbay_names() {
  local name names
  mapfile -t names < <(compgen "$1" -- "$2")
  for name in "${names[@]}"; do
    [[ ! -e ${name/#\~/$HOME} && ! -L $name ]] || COMPREPLY+=("$name")
  done
}

_patchbay_resources() {
  local config=${PATCHBAY_CONFIG:-/etc/patchbay} i
  for ((i = 2; i < COMP_CWORD - 1; i++)); do
    [[ ${COMP_WORDS[i]} != -c && ${COMP_WORDS[i]} != --config ]] || config=${COMP_WORDS[i + 1]}
  done
  local file files=()
  for file in "$config" "$config"/*.toml; do
    [[ ! -f $file ]] || files+=("$file")
  done
  ((${#files[@]})) || return 0
  # A file can have any name, also that of an option of sed.
  sed -nE "s|^[[:space:]]*name[[:space:]]*=[[:space:]]*[\"']([a-z0-9.-]+/[A-Za-z0-9._-]+)[\"'].*|\1|p" \
    -- "${files[@]}" 2>/dev/null
}

_patchbay() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
  local help kind i places=0
  COMPREPLY=()
  # bash splits --output=json into three words.
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = && $COMP_CWORD -gt 2 ]]; then
    prev=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if ((COMP_CWORD == 1)); then
    help=$(_patchbay_help "")
    if [[ $cur == -* ]]; then
      mapfile -t COMPREPLY < <(compgen -W "$(_patchbay_options)" -- "$cur")
    else
      mapfile -t COMPREPLY < <(compgen -W \
        "$(sed -n '/^Subcommands:/,$s/^  \([a-z][a-z-]*\) .*/\1/p' <<<"$help")" -- "$cur")
    fi
    return 0
  fi
  help=$(_patchbay_help "${COMP_WORDS[1]}")
  if [[ $prev == -* ]] && kind=$(_patchbay_kind "$prev") && [[ -n $kind ]]; then
    _patchbay_values "$kind" "$cur"
  elif [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_patchbay_options)" -- "$cur")
  else
    for ((i = 2; i < COMP_CWORD; i++)); do
      [[ ${COMP_WORDS[i]} == -* || -n $(_patchbay_kind "${COMP_WORDS[i - 1]}") ]] || ((places++))
    done
    local kinds
    mapfile -t kinds < <(sed -nE '/^Positionals:/,$s/^  [a-z]+ ([A-Z]+|[a-z]+(\|[a-z]+)+).*/\1/p' <<<"$help")
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
