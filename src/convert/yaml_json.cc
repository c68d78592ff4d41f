#include "convert/yaml_json.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/escape.h"

namespace patchbay {
namespace {

/// Writes a value as JSON.
class JsonWriter {
 public:
  JsonWriter(std::string& out, std::size_t max_bytes) : out_(out), max_bytes_(max_bytes) {}

  void Write(const YamlValue& value) {
    if (out_.size() > max_bytes_) return;
    switch (value.kind) {
      case YamlValue::Kind::kNull: out_ += "null"; break;
      case YamlValue::Kind::kScalar: Scalar(value); break;
      case YamlValue::Kind::kList:
        All("[", value.items, "]", [&](const YamlValue& item) { Write(item); });
        break;
      case YamlValue::Kind::kMap:
        All("{", value.entries, "}", [&](const YamlEntry& entry) {
          out_ += QuoteJson(entry.key.text) + ": ";
          Write(entry.value);
        });
    }
  }

 private:
  void Scalar(const YamlValue& value) {
    static constexpr std::string_view kWords[] = {"true", "false", "null"};
    const std::string& text = value.text;
    const std::string_view digits = std::string_view(text).substr(text.starts_with('-') ? 1 : 0);
    const bool is_number = !digits.empty() && digits.size() < 16 &&
                           (digits == "0" || digits[0] != '0') &&
                           std::all_of(digits.begin(), digits.end(), IsDigit);
    const bool is_plain =
        is_number || std::find(std::begin(kWords), std::end(kWords), text) != std::end(kWords);
    out_ += is_plain && !value.is_quoted ? text : QuoteJson(text);
  }

  template <class Values, class WriteOne>
  void All(const char* open, const Values& values, const char* close, WriteOne write) {
    out_ += open;
    bool is_first = true;
    for (const auto& value : values) {
      if (!std::exchange(is_first, false)) out_ += ", ";
      if (out_.size() > max_bytes_) {
        out_ += "…";
        return;
      }
      write(value);
    }
    out_ += close;
  }

  std::string& out_;
  std::size_t max_bytes_;
};

}  // namespace

std::string ToJson(const YamlValue& value, std::size_t max_bytes) {
  std::string json;
  JsonWriter(json, max_bytes).Write(value);
  return json;
}

}  // namespace patchbay
