#pragma once

#include <algorithm>
#include <boost/iterator/indirect_iterator.hpp>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "model/device.h"

namespace patchbay {

/// A list of devices that are shared with others, so that a list with most devices of another one
/// copies none of them. Reads like a list of values, and compares by value.
class DeviceList {
 public:
  using Shared = std::vector<std::shared_ptr<const Device>>;

  using Iterator = boost::indirect_iterator<Shared::const_iterator, const Device>;
  using value_type = Device;
  using iterator = Iterator;
  using const_iterator = Iterator;

  DeviceList() = default;
  /// None may be null.
  explicit DeviceList(Shared devices) : devices_(std::move(devices)) {}
  DeviceList(std::vector<Device> devices) {  // NOLINT(google-explicit-constructor)
    for (Device& device : devices) {
      devices_.push_back(std::make_shared<const Device>(std::move(device)));
    }
  }

  Iterator begin() const { return Iterator(devices_.begin()); }
  Iterator end() const { return Iterator(devices_.end()); }
  std::size_t size() const { return devices_.size(); }
  bool empty() const { return devices_.empty(); }
  const Device& operator[](std::size_t place) const { return *devices_[place]; }
  const Device& at(std::size_t place) const { return *devices_.at(place); }
  const Device& front() const { return *devices_.front(); }
  const Device& back() const { return *devices_.back(); }

  const Shared& shared() const { return devices_; }

  bool operator==(const DeviceList& other) const {
    return std::equal(devices_.begin(), devices_.end(), other.devices_.begin(),
                      other.devices_.end(),
                      [](const auto& a, const auto& b) { return a == b || *a == *b; });
  }

 private:
  Shared devices_;
};

}  // namespace patchbay
