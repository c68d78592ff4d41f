#include "status/observer.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace patchbay {
namespace {

TEST(Rpc, NamesEqualThoseOfTheApi) {
  std::vector<std::string> names;
  for (const Rpc rpc : kAllRpcs) names.emplace_back(Name(rpc));
  EXPECT_THAT(names,
              testing::ElementsAre("GetDevicePluginOptions", "ListAndWatch",
                                   "GetPreferredAllocation", "Allocate", "PreStartContainer"));
}

}  // namespace
}  // namespace patchbay
