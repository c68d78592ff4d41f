// Input: a ResourceSlice of the API server, stored or not.
#include <nlohmann/json.hpp>

#include "dra/slice_json.h"
#include "fuzz.h"
#include "model/object_name.h"

using namespace patchbay;

namespace {

void RequireSlice(const PublishedSlice& read) {
  fuzz::Require(IsDnsSubdomain(read.key.name) && !read.key.uid.empty());
  fuzz::Require(read.slice.generation >= 0 && read.slice.slice_count >= 0);
  for (const SliceDevice& device : read.slice.devices) fuzz::Require(device.name.size() <= 63);

  // A slice that was read can be written and read again, except fields that Patchbay never writes.
  ResourceSlice own = read.slice;
  for (SliceDevice& device : own.devices) device.has_foreign_fields = false;
  const auto again = ParseSlice(UpdateJson({read.key, own}, {read.driver, read.node_name, "uid"}));
  fuzz::Require(again && again->slice == own && again->driver == read.driver);

  // A plan brings the pool to any devices, here to those of the slice with distinct names.
  std::vector<SliceDevice> devices;
  for (const SliceDevice& device : own.devices) {
    const auto is_same = [&](const SliceDevice& other) { return other.name == device.name; };
    if (std::none_of(devices.begin(), devices.end(), is_same)) devices.push_back(device);
  }
  const SlicePlan plan = PlanSlices(own.pool, devices, {&read, 1}, read.owner_uid);
  std::size_t planned = 0;
  for (const SliceUpdate& update : plan.updates) planned += update.slice.devices.size();
  for (const SliceCreation& creation : plan.creations) planned += creation.slice.devices.size();
  fuzz::Require(plan.IsEmpty() || planned == devices.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::Text(data, size);
  if (const auto slice = ParseSlice(text)) {
    fuzz::Require(nlohmann::json::accept(text));
    RequireSlice(*slice);
  } else {
    fuzz::RequireMessage(slice.error().message);
  }
  const auto unstored = ParseUnstoredSlice(text);
  if (!unstored) fuzz::RequireMessage(unstored.error().message);
  return 0;
}
