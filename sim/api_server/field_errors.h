#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/api_server/api_error.h"
#include "sim/api_server/field_rules.h"

namespace patchbay::api_sim {

/// Returns the path of an element, "spec.devices[3]", or of a value of a map, "attributes[id]".
std::string At(std::string_view path, std::size_t index);
std::string At(std::string_view path, std::string_view key);

/// Collects the errors of the fields of an object, in the words of the real server:
/// "spec.driver: Required value".
class FieldErrors {
 public:
  void Required(std::string_view field, std::string_view detail = "");
  void Forbidden(std::string_view field, std::string_view detail);
  void Duplicate(std::string_view field, const Json& value);
  /// Reports an invalid value unless `is_valid`.
  void Check(bool is_valid, std::string_view field, const Json& value, std::string_view detail);
  /// Reports a text that breaks a rule.
  void Check(Rule rule, std::string_view field, std::string_view text);
  /// Does so with the member `name` of `object`, which is at `path` and must not be empty.
  void CheckMember(Rule rule, const Json& object, std::string_view path, std::string_view name);
  /// Reports a list with more than `max` elements. Returns whether it may be checked further.
  bool CheckSize(const Json& list, std::size_t max, std::string_view field);

  std::vector<std::string> Take() { return std::move(errors_); }

 private:
  void Add(std::string_view field, std::string_view message);

  std::vector<std::string> errors_;
};

/// Returns a member of an object, or a null value if there is none.
const Json& Member(const Json& object, std::string_view name);
/// Returns a member that is a string, or "".
std::string_view Text(const Json& object, std::string_view name);

}  // namespace patchbay::api_sim
