#include "api_server_sim/field_errors.h"

#include "base/format.h"

namespace patchbay::api_sim {

std::string At(std::string_view path, std::size_t index) { return Format("{}[{}]", path, index); }

std::string At(std::string_view path, std::string_view key) { return Format("{}[{}]", path, key); }

void FieldErrors::Required(std::string field, std::string_view detail) {
  std::string message = "Required value";
  if (!detail.empty()) message.append(": ").append(detail);
  causes_.push_back({"FieldValueRequired", std::move(message), std::move(field)});
}

void FieldErrors::Invalid(std::string field, const Json& value, std::string_view detail) {
  causes_.push_back({"FieldValueInvalid", Format("Invalid value: {}: {}", Dump(value), detail),
                     std::move(field)});
}

void FieldErrors::NotSupported(std::string field, const Json& value,
                               std::initializer_list<std::string_view> supported) {
  std::string names;
  for (const std::string_view name : supported) {
    names.append(names.empty() ? "\"" : ", \"").append(name).append("\"");
  }
  causes_.push_back({"FieldValueNotSupported",
                     Format("Unsupported value: {}: supported values: {}", Dump(value), names),
                     std::move(field)});
}

void FieldErrors::Duplicate(std::string field, const Json& value) {
  causes_.push_back(
      {"FieldValueDuplicate", Format("Duplicate value: {}", Dump(value)), std::move(field)});
}

void FieldErrors::Forbidden(std::string field, std::string_view detail) {
  causes_.push_back({"FieldValueForbidden", Format("Forbidden: {}", detail), std::move(field)});
}

void FieldErrors::TooLong(std::string field, std::size_t max_bytes) {
  causes_.push_back({"FieldValueTooLong",
                     Format("Too long: may not be more than {} bytes", max_bytes),
                     std::move(field)});
}

void FieldErrors::TooMany(std::string field, std::size_t actual, std::size_t max) {
  causes_.push_back({"FieldValueTooMany",
                     Format("Too many: {}: must have at most {} items", actual, max),
                     std::move(field)});
}

bool FieldErrors::CheckSize(const Json& list, std::size_t max, const std::string& field) {
  if (list.size() <= max) return true;
  TooMany(field, list.size(), max);
  return false;
}

const Json& Member(const Json& object, std::string_view name) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

std::string_view Text(const Json& object, std::string_view name) {
  const Json& member = Member(object, name);
  return member.is_string() ? std::string_view(member.get_ref<const std::string&>())
                            : std::string_view();
}

}  // namespace patchbay::api_sim
