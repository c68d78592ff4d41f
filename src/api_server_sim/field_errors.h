#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "api_server_sim/api_error.h"

namespace patchbay::api_sim {

/// Returns the path of an element, "spec.devices[3]", or of a value of a map, "attributes[id]".
std::string At(std::string_view path, std::size_t index);
std::string At(std::string_view path, std::string_view key);

/// Collects the errors of the fields of an object, with the reasons and messages of the real
/// server.
class FieldErrors {
 public:
  void Required(std::string field, std::string_view detail = "");
  void Invalid(std::string field, const Json& value, std::string_view detail);
  void NotSupported(std::string field, const Json& value,
                    std::initializer_list<std::string_view> supported);
  void Duplicate(std::string field, const Json& value);
  void Forbidden(std::string field, std::string_view detail);
  void TooLong(std::string field, std::size_t max_bytes);
  void TooMany(std::string field, std::size_t actual, std::size_t max);

  /// Reports Invalid unless `is_valid`.
  void Check(bool is_valid, const std::string& field, const Json& value, std::string_view detail) {
    if (!is_valid) Invalid(field, value, detail);
  }
  /// Reports TooMany if `list` has more than `max` elements. Returns whether it may be checked.
  bool CheckSize(const Json& list, std::size_t max, const std::string& field);

  std::vector<Cause> Take() { return std::move(causes_); }

 private:
  std::vector<Cause> causes_;
};

/// Returns a member of an object, or a null value if there is none.
const Json& Member(const Json& object, std::string_view name);
/// Returns a member that is a string, or "".
std::string_view Text(const Json& object, std::string_view name);

}  // namespace patchbay::api_sim
