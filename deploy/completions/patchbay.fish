# Completion of patchbay for fish: `patchbay completion fish` prints this file.
# Resources are read from the configuration.

# Prints the help of a command, or of the program if it is "".
function __patchbay_help -a command
    switch "$command"
        case ''
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
            '  convert  convert another plugin\'s configuration to Patchbay TOML' \
            '  try  run everything against the built-in kubelet' \
            '  completion  print the completion script of a shell' \
            '  version  print the version'
        case run
          printf '%s\n' \
            'Options:' \
            '  -h,--help  print this help' \
            '  --listen ADDRESS:PORT  HTTP address for metrics and health (default: listen of the file, otherwise [::]:9478)' \
            '  --log-level debug|info|warning|error  minimum log level (default: log_level of the file, otherwise info)' \
            '  --log-format text|json  log format (default: text)' \
            '  --kubelet-dir DIR  the kubelet\'s device plugin directory; default: kubelet_dir of the file, otherwise /var/lib/kubelet/device-plugins' \
            '  --wait-for-config  if the configuration is missing or invalid, wait for a valid one instead of exiting' \
            '  --allow-other-server  in a pod, let server of [daemon.kubernetes] be another API server than the pod\'s' \
            '  -c,--config PATH  configuration, a file or a directory; also PATCHBAY_CONFIG' \
            '  --host-root DIR  directory where the host\'s root file system is mounted; default: host_root of the file, otherwise /'
        case check
          printf '%s\n' \
            'Options:' \
            '  -h,--help  print this help' \
            '  --strict  treat warnings as errors' \
            '  -o,--output table|json|yaml  output format (default: table)' \
            '  -c,--config PATH  configuration, a file or a directory; also PATCHBAY_CONFIG' \
            'Positionals:' \
            '  file FILE ...  files and directories, - for stdin; default: --config'
        case devices
          printf '%s\n' \
            'Options:' \
            '  -h,--help  print this help' \
            '  --probe  run the health probe of each device once' \
            '  -o,--output table|json|yaml|name  output format; name: device IDs only (default: table)' \
            '  -c,--config PATH  configuration, a file or a directory; also PATCHBAY_CONFIG' \
            '  --host-root DIR  directory where the host\'s root file system is mounted; default: host_root of the file, otherwise /' \
            'Positionals:' \
            '  resource RESOURCE  only this resource'
        case explain
          printf '%s\n' \
            'Options:' \
            '  -h,--help  print this help' \
            '  --path PATH  explain only this path, device ID or device name' \
            '  --exit-code  exit with 1 if a resource has no device, or if none lists the path' \
            '  -o,--output table|json|yaml  output format (default: table)' \
            '  -c,--config PATH  configuration, a file or a directory; also PATCHBAY_CONFIG' \
            '  --host-root DIR  directory where the host\'s root file system is mounted; default: host_root of the file, otherwise /' \
            'Positionals:' \
            '  resource RESOURCE  only this resource'
        case allocate
          printf '%s\n' \
            'Options:' \
            '  -h,--help  print this help' \
            '  --count N  number of units; for DRA, of devices (default: 1)' \
            '  -o,--output table|json|yaml  output format (default: table)' \
            '  -c,--config PATH  configuration, a file or a directory; also PATCHBAY_CONFIG' \
            '  --host-root DIR  directory where the host\'s root file system is mounted; default: host_root of the file, otherwise /' \
            'Positionals:' \
            '  resource RESOURCE  name of the resource' \
            '  id ID ...  IDs or names in slices'
        case diff
          printf '%s\n' \
            'Options:' \
            '  -h,--help  print this help' \
            '  -o,--output table|json|yaml  output format (default: table)' \
            'Positionals:' \
            '  old FILE  current configuration' \
            '  new FILE  new configuration'
        case device-classes
          printf '%s\n' \
            'Options:' \
            '  -h,--help  print this help' \
            '  -o,--output yaml|json|name  output format; name: names of the classes only (default: yaml)' \
            '  -c,--config PATH  configuration, a file or a directory; also PATCHBAY_CONFIG' \
            'Positionals:' \
            '  resource RESOURCE ...  only these resources'
        case schema
          printf '%s\n' \
            'Options:' \
            '  -h,--help  print this help'
        case convert
          printf '%s\n' \
            'Options:' \
            '  -h,--help  print this help' \
            '  --from generic-device-plugin|smarter-device-manager  plugin to convert from' \
            '  --domain DOMAIN  domain of the resources; default: as in the file' \
            '  -o,--output toml|helm  TOML, or values for the Helm chart that contain it (default: toml)' \
            '  --host-root DIR  inspect this node\'s /dev to distinguish devices from directories' \
            'Positionals:' \
            '  file FILE  its config file, or Kubernetes manifests containing it; - for stdin'
        case try
          printf '%s\n' \
            'Options:' \
            '  -h,--help  print this help' \
            '  --listen ADDRESS:PORT  HTTP address for metrics and health; default: a free port of 127.0.0.1' \
            '  --log-level debug|info|warning|error  minimum log level (default: warning)' \
            '  --log-format text|json  log format (default: text)' \
            '  --once  probe each device once, print the report and exit' \
            '  -c,--config PATH  configuration, a file or a directory; also PATCHBAY_CONFIG' \
            '  --host-root DIR  directory where the host\'s root file system is mounted; default: host_root of the file, otherwise /'
        case completion
          printf '%s\n' \
            'Options:' \
            '  -h,--help  print this help' \
            'Positionals:' \
            '  shell bash|zsh|fish  the shell'
        case version
          printf '%s\n' \
            'Options:' \
            '  -h,--help  print this help'
    end
end

function __patchbay_resources
    set -l config /etc/patchbay
    set -q PATCHBAY_CONFIG; and set config $PATCHBAY_CONFIG
    set -l words (commandline -opc)
    for i in (seq 2 (count $words))
        contains -- $words[$i] -c --config; and set -q words[(math $i + 1)]
        and set config $words[(math $i + 1)]
    end
    set -l files
    for file in $config $config/*.toml
        test -f $file; and set -a files $file
    end
    set -q files[1]; or return
    sed -nE 's|^[[:space:]]*name[[:space:]]*=[[:space:]]*["\']([a-z0-9.-]+/[A-Za-z0-9._-]+)["\'].*|\1|p' -- $files 2>/dev/null
end

# Prints the words for a kind of value, named as in the help: RESOURCE, DIR, json|table.
function __patchbay_values -a kind word
    switch $kind
        case '*|*'
            string split '|' -- $kind
        case RESOURCE
            __patchbay_resources
        case DIR
            __fish_complete_directories $word
        case FILE PATH
            __fish_complete_path $word
    end
end

# Prints the kind of value that an option takes, if any.
function __patchbay_kind -a option
    string match -qr -- '^-[a-z-]+$' $option; or return
    string replace -rf -- "^  (?:.*,)?$option(?:,\S*)? ([A-Z]+|[a-z-]+(?:\|[a-z-]+)+).*" '$1' $argv[2..]
end

function __patchbay_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l help (__patchbay_help $words[2])
    if string match -q -- '--*=*' $word
        set -l parts (string split -m 1 = -- $word)
        for value in (__patchbay_values (__patchbay_kind $parts[1] $help) $parts[2])
            echo $parts[1]=$value
        end
        return
    end
    if set -q words[2]; and set -l kind (__patchbay_kind $words[-1] $help); and test -n "$kind"
        __patchbay_values $kind $word
        return
    end
    if string match -q -- '-*' $word
        string replace -rf -- '^  (?:-[a-z],)?(--[a-z-]+).*?(?:  +(\S.*))?$' '$1\t$2' $help
    else if not set -q words[2]
        string replace -rf -- '^  ([a-z][a-z-]*)  +(.*)' '$1\t$2' $help
    else
        set -l places 1
        for i in (seq 3 (count $words))
            string match -q -- '-*' $words[$i]; and continue
            test -n "$(__patchbay_kind $words[(math $i - 1)] $help)"; and continue
            set places (math $places + 1)
        end
        set -l kinds (string replace -rf -- '^  [a-z]+ ([A-Z]+|[a-z]+(?:\|[a-z]+)+).*' '$1' $help)
        set -q kinds[1]; or return
        test $places -le (count $kinds); or set places (count $kinds)
        __patchbay_values $kinds[$places] $word
    end
end

complete -c patchbay -f -a '(__patchbay_complete)'
