#include <ostream>

#include "cli/commands.h"
#include "config/json_schema.h"

namespace patchbay {

int RunSchema(const Arguments&, Streams streams) {
  streams.out << JsonSchema().dump(2) << "\n";
  return kOk;
}

}  // namespace patchbay
