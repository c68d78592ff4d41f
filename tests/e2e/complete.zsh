# zsh -f complete.zsh DIRECTORY LINE: what zsh completes at the end of the line, with the completions of
# the directory, one to a line. It completes at terminals only, so it gets one.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PROMPT=; fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D"
zpty -w shell 'stty -echo; bindkey "^I" complete-word'
# Its own questions about what would match are not for us.
zpty -w shell 'compadd () {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
  local -a found
  builtin compadd -A found "$@"
  local each
  for each in $found; do print -r -- "FOUND $each"; done
  builtin compadd "$@"
}'
zpty -w shell 'comppostfuncs=(tell_end); tell_end () { print -r -- "THE"" END" }; print -r -- REA""DY'
zpty -r shell lines '*READY*'
zpty -n -w shell "$2"$'\t'
zpty -r shell lines '*THE END*'
print -r -- "$lines" | tr -d '\r' | sed -n 's/.*FOUND //p'
zpty -d shell
