# Completion of patchbay for fish: `patchbay completion fish` prints this file.
function __patchbay_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l lines (patchbay __complete $words[2..] "$word" 2>/dev/null)
    set -l option (string match -r -- '^--[a-z-]+=' $word)
    switch "$lines[1]"
        case files
            __fish_complete_path (string replace -- "$option" '' $word)
        case directories
            __fish_complete_directories (string replace -- "$option" '' $word)
        case words
            printf "$option%s\n" $lines[2..]
    end
end

complete -c patchbay -f -a '(__patchbay_complete)'
