#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace patchbay {

/// Values by name: the named groups of a regex, udev properties, the variables of a command. Their
/// Origin (model/variables.h) depends on the field that contains them. Most devices have none:
/// the object is as small as a pointer, and an empty one allocates nothing. A value type; reads
/// like a vector.
class NamedValues {
 public:
  using value_type = std::pair<std::string, std::string>;
  using Entries = std::vector<value_type>;
  using const_iterator = Entries::const_iterator;

  NamedValues() = default;
  NamedValues(Entries entries)  // NOLINT(google-explicit-constructor)
      : entries_(entries.empty() ? nullptr : std::make_unique<Entries>(std::move(entries))) {}
  NamedValues(std::initializer_list<value_type> entries) : NamedValues(Entries(entries)) {}
  NamedValues(const NamedValues& other) : NamedValues(other.entries()) {}
  NamedValues(NamedValues&&) noexcept = default;
  NamedValues& operator=(const NamedValues& other) { return *this = NamedValues(other); }
  NamedValues& operator=(NamedValues&&) noexcept = default;
  ~NamedValues() = default;

  const_iterator begin() const { return entries().begin(); }
  const_iterator end() const { return entries().end(); }
  std::size_t size() const { return entries().size(); }
  bool empty() const { return entries_ == nullptr; }
  void emplace_back(std::string name, std::string value);
  /// Adds the values whose names the object does not contain yet.
  void Merge(NamedValues from);

  bool operator==(const NamedValues& other) const { return entries() == other.entries(); }

 private:
  const Entries& entries() const;

  std::unique_ptr<Entries> entries_;  ///< null if there are none
};

}  // namespace patchbay
