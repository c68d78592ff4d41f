# Completion of patchbay for fish. Commands and options are read from `patchbay --help`, so that they match
# the installed program. Resources are read from the configuration.

function __patchbay_resources
    set -l config /etc/patchbay
    set -q PATCHBAY_CONFIG; and set config $PATCHBAY_CONFIG
    set -l words (commandline -opc)
    for i in (seq 2 (count $words))
        contains -- $words[$i] -c --config; and set -q words[(math $i + 1)]
        and set config $words[(math $i + 1)]
    end
    set -l files $config
    test -d $config; and set files $config/*.toml
    set -q files[1]; or return
    sed -nE 's|^[[:space:]]*name[[:space:]]*=[[:space:]]*["\']([a-z0-9.-]+/[A-Za-z0-9._-]+)["\'].*|\1|p' $files 2>/dev/null
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
        case FILE PATH OLD
            __fish_complete_path $word
    end
end

# Prints the kind of value that an option takes, if any.
function __patchbay_kind -a option
    string match -q -- '-*' $option; or return
    string replace -rf -- "^  (?:.*,)?$option(?:,\S*)? ([A-Z]+|[a-z-]+(?:\|[a-z-]+)+).*" '$1' $argv[2..]
end

function __patchbay_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    # The description of a long name is on the next line.
    set -l help ($words[1] $words[2] --help 2>/dev/null | sed -E '/^  [^ ].*[^ ]$/{N;s/\n {20,}/  /;t;P;D}')
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
        set -l kinds (string replace -rf -- '^  [a-z]+ ([A-Z]+).*' '$1' $help)
        set -q kinds[1]; or return
        test $places -le (count $kinds); or set places (count $kinds)
        __patchbay_values $kinds[$places] $word
    end
end

complete -c patchbay -f -a '(__patchbay_complete)'
