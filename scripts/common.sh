# shellcheck shell=bash
# Sourced by the scripts: installing what is missing, configuring and building.
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

# telling_skipped COMMAND...: runs tests, and says in the end what could not be tested here, and why.
telling_skipped() {
  local skipped=$root/build/dev/skipped.txt status=0
  rm -f "$skipped"
  "$@" || status=$?
  if [[ -s $skipped ]]; then
    echo "Skipped for want of something here:"
    sort "$skipped" | sed 's/^/  /'
  fi
  return "$status"
}

# install_packages GROUP...: installs what is missing of these groups of packages.txt.
install_packages() {
  local wanted missing as_root=()
  mapfile -t wanted < <(packages_of "$@" | sort -u)
  if ! command -v dpkg-query >/dev/null; then
    echo "This is not Debian. The build needs what Debian 12 calls: ${wanted[*]}" >&2
    return 0
  fi
  mapfile -t missing < <(comm -23 <(printf '%s\n' "${wanted[@]}") <(installed "${wanted[@]}"))
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
  quietly "$root/build/install.log" "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
}

# packages_of GROUP...: what packages.txt has of them, but for those whose program is there.
packages_of() {
  local group package program
  while read -r group package program; do
    [[ " $* " == *" $group "* ]] || continue
    [[ -n $program ]] && command -v "$program" >/dev/null || echo "$package"
  done <"$root/scripts/packages.txt"
}

# installed PACKAGE...: those that are, sorted.
installed() {
  dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
    sed -n 's/^installed //p' | sort -u
}

# install_node_modules: what tests/node/package.json names, in build/node. Without npm, or a registry
# that it can ask, the tests that need it say so and are skipped.
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

# build PRESET [TARGET]...: configures when it must, then builds, quietly when nobody watches.
build() {
  local preset=$1 dir=$root/build/$1
  shift
  if [[ ! $dir/build.ninja -nt $root/CMakePresets.json ]]; then
    echo "Building build/$preset, which takes some minutes the first time; see build/$preset/build.log" >&2
    # From inside, where the presets are looked for.
    (cd "$root" && quietly "$dir/configure.log" cmake --preset "$preset")
    touch "$dir/build.ninja"
  fi
  if [[ -t 1 ]]; then
    ninja -C "$dir" -j "$(nproc)" "$@"
  else
    quietly "$dir/build.log" ninja --quiet -C "$dir" -j "$(nproc)" "$@"
  fi
}
