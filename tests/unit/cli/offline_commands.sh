#!/usr/bin/env bash
# offline_commands.sh PROGRAM CONFIG FOREIGN: checks that the program runs without loading gRPC.
set -euo pipefail

loaded=$(ldd "$1")
if grep -E 'lib(grpc|gpr|protobuf|upb|prometheus)' <<<"$loaded"; then
  echo "the commands that need no kubelet load what only the kubelet needs" >&2
  exit 1
fi
"$1" check "$2"
"$1" devices --config "$2"
"$1" explain --config "$2"
"$1" allocate --config "$2" patchbay.dev/null
"$1" schema
classes=$(mktemp)
trap 'rm "$classes"' EXIT
sed 's/^\[\[resource\]\]$/&\napi = "dra"/' "$2/everyday.toml" >"$classes"
"$1" device-classes --config "$classes"
"$1" convert --from generic-device-plugin "$3"
