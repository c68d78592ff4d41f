#include "sim/api_server/field_errors.h"

#include "base/format.h"

namespace patchbay::api_sim {

std::string At(std::string_view path, std::size_t index) { return Format("{}[{}]", path, index); }

std::string At(std::string_view path, std::string_view key) { return Format("{}[{}]", path, key); }

void FieldErrors::Add(std::string_view field, std::string_view message) {
  errors_.push_back(Format("{}: {}", field, message));
}

void FieldErrors::Required(std::string_view field, std::string_view detail) {
  Add(field, Format("Required value{}{}", detail.empty() ? "" : ": ", detail));
}

void FieldErrors::Forbidden(std::string_view field, std::string_view detail) {
  Add(field, Format("Forbidden: {}", detail));
}

void FieldErrors::Duplicate(std::string_view field, const Json& value) {
  Add(field, Format("Duplicate value: {}", Dump(value)));
}

void FieldErrors::Check(bool is_valid, std::string_view field, const Json& value,
                        std::string_view detail) {
  if (!is_valid) Add(field, Format("Invalid value: {}: {}", Dump(value), detail));
}

void FieldErrors::Check(Rule rule, std::string_view field, std::string_view text) {
  if (text.size() > MaxBytes(rule)) {
    return Add(field, Format("Too long: may not be more than {} bytes", MaxBytes(rule)));
  }
  Check(Accepts(rule, text), field, text, Description(rule));
}

void FieldErrors::CheckMember(Rule rule, const Json& object, std::string_view path,
                              std::string_view name) {
  const std::string field = Format("{}.{}", path, name);
  const std::string_view text = Text(object, name);
  if (text.empty()) return Required(field);
  Check(rule, field, text);
}

bool FieldErrors::CheckSize(const Json& list, std::size_t max, std::string_view field) {
  if (list.size() <= max) return true;
  Add(field, Format("Too many: {}: must have at most {} items", list.size(), max));
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
