# shellcheck shell=bash
# Functions for the scripts: install missing packages, configure and build.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Tests wait for processes and sockets more than they compute.
tests_at_once=$((3 * $(nproc)))

# quietly LOG COMMAND...: shows the command's output only when it fails.
quietly() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  if ! "$@" >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    echo "failed: $*" >&2
    return 1
  fi
}

# list_skipped COMMAND...: runs tests, then lists the skipped ones and the reasons.
list_skipped() {
  local skipped=$root/build/dev/skipped.txt status=0
  rm -f "$skipped"
  "$@" || status=$?
  if [[ -s $skipped ]]; then
    echo "Skipped because something is missing on this machine:"
    sort "$skipped" | sed 's/^/  /'
  fi
  return "$status"
}

# install_packages GROUP...: installs the missing packages of these groups of packages.txt.
install_packages() {
  local missing as_root=()
  if ! command -v dpkg-query >/dev/null; then
    echo "This is not Debian. The build needs what Debian calls:" $(packages_of "$@" | sort -u) >&2
    return 0
  fi
  mapfile -t missing < <(missing_packages "$@")
  [[ ${#missing[@]} -gt 0 ]] || return 0
  if [[ $EUID -ne 0 ]]; then
    # Without a terminal sudo cannot ask for a password.
    if ! command -v sudo >/dev/null || ! { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
      echo "Missing packages. As root: apt-get install --no-install-recommends ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "Installing ${missing[*]}"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
    apt-get -o DPkg::Lock::Timeout=120)
  quietly "$root/build/install.log" "${apt[@]}" update
  mapfile -t missing < <(missing_packages "$@") # apt may have known no name before
  quietly "$root/build/install.log" "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
}

# packages_of GROUP...: prints their packages from packages.txt, without those whose program is installed. Of names
# separated by "|", prints the first that apt knows, or the last.
packages_of() {
  local group names program name
  while read -r group names program; do
    [[ " $* " == *" $group "* ]] || continue
    [[ -z $program ]] || ! command -v "$program" >/dev/null || continue
    for name in ${names//|/ }; do
      [[ $names == "$name" || -z $(apt-cache show "$name" 2>/dev/null) ]] || break
    done
    echo "$name"
  done <"$root/scripts/packages.txt"
}

missing_packages() {
  local wanted
  mapfile -t wanted < <(packages_of "$@" | sort -u)
  comm -23 <(printf '%s\n' "${wanted[@]}") <(installed "${wanted[@]}")
}

# installed PACKAGE...: prints the installed ones, sorted.
installed() {
  dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
    sed -n 's/^installed //p' | sort -u
}

# install_node_modules: installs the modules of tests/node/package.json in build/node. Without npm or a
# reachable registry, the tests that need them are skipped.
install_node_modules() {
  local from=$root/tests/node to=$root/build/node
  command -v npm >/dev/null || return 0
  cmp -s "$from/package-lock.json" "$to/installed.json" && return 0
  mkdir -p "$to"
  cp "$from/package.json" "$from/package-lock.json" "$from/.npmrc" "$to"
  if (cd "$to" && quietly "$root/build/install.log" npm ci); then
    cp "$from/package-lock.json" "$to/installed.json"
  else
    echo "The modules of tests/node could not be installed; the tests that need them are skipped." >&2
  fi
}

# build PRESET [TARGET]...: configures if needed, then builds, quietly without a terminal.
build() {
  local preset=$1 dir=$root/build/$1
  shift
  if [[ ! $dir/build.ninja -nt $root/CMakePresets.json ]]; then
    echo "Building build/$preset, which takes some minutes the first time; see build/$preset/build.log" >&2
    # cmake looks for presets in the current directory.
    (cd "$root" && quietly "$dir/configure.log" cmake --preset "$preset")
    touch "$dir/build.ninja"
  fi
  if [[ -t 1 ]]; then
    ninja -C "$dir" -j "$(nproc)" "$@"
  else
    quietly "$dir/build.log" ninja --quiet -C "$dir" -j "$(nproc)" "$@"
  fi
}

# project_version: prints the version in CMakeLists.txt.
project_version() { sed -n 's/^project(patchbay VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt"; }

# The commit that is built, as `patchbay --version` shows it, and its time. Both also exist without git.
revision() { git -C "$root" rev-parse --short HEAD 2>/dev/null || echo unknown; }
commit_epoch() { git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0; }
