#include "suggest/suggest.h"

#include <ostream>

#include "base/format.h"
#include "cli/commands.h"

namespace patchbay {

int RunSuggest(const Arguments& arguments, Streams streams) {
  const Suggestions suggestions = Suggest(HostRoot(arguments.host_root.value_or("/")));
  if (suggestions.used_disks > 0) {
    streams.err << Format("left out: {} disk{} that the host uses\n", suggestions.used_disks,
                          suggestions.used_disks == 1 ? "" : "s");
  }
  if (suggestions.toml.empty()) {
    streams.err << "this host has no device that containers use\n";
    return kFailed;
  }
  streams.out << suggestions.toml;
  return kOk;
}

}  // namespace patchbay
