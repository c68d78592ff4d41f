// The file is written as text, table by table, because comments have to be in front of the tables
// that they describe. The tables of a resource are indented by two spaces.
//
// Strings of the input may contain any UTF-8. Notes are made printable, and wrapped at spaces to
// 100 columns.

#include "config/toml_writer.h"

#include <algorithm>
#include <string_view>

#include "base/escape.h"
#include "base/format.h"
#include "config/toml_text.h"

namespace patchbay {
namespace {

constexpr std::size_t kWidth = 100;

/// Writes the lines of one table with the same indentation.
class TableWriter {
 public:
  TableWriter(std::string& out, std::string indent) : out_(out), indent_(std::move(indent)) {}

  void Comments(const Notes& notes) {
    for (const std::string& note : notes) Comment(Printable(note));
  }
  void Header(std::string_view header) { out_ += Format("{}{}\n", indent_, header); }
  void Raw(std::string_view key, const std::string& value) {
    out_ += Format("{}{} = {}\n", indent_, key, value);
  }
  void Key(std::string_view key, const std::string& value) {
    if (!value.empty()) Raw(key, QuoteToml(value));
  }
  void Key(std::string_view key, const std::vector<std::string>& values) {
    if (!values.empty()) Raw(key, values.size() == 1 ? QuoteToml(values[0]) : TomlList(values));
  }

 private:
  void Comment(std::string_view text) {
    const std::size_t width = kWidth - indent_.size() - 2;
    while (!text.empty()) {
      auto end = text.size();
      if (end > width) {
        end = text.rfind(' ', width);
        if (end == std::string_view::npos || end == 0) end = std::min(text.find(' '), text.size());
      }
      out_ += Format("{}# {}\n", indent_, text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  std::string& out_;
  std::string indent_;
};

/// `owner` is the table that contains the node: "resource" or "resource.match".
void WriteNodes(const std::vector<NewNode>& nodes, std::string_view owner, std::string_view indent,
                std::string& out) {
  if (nodes == std::vector<NewNode>{NewNode{}}) return;
  for (const NewNode& node : nodes) {
    out += "\n";
    TableWriter lines(out, std::string(indent));
    lines.Comments(node.notes);
    lines.Header(Format("[[{}.device_node]]", owner));
    lines.Key("host_path", node.host_path);
    lines.Key("container_path", node.container_path);
    lines.Key("permissions", node.permissions);
    if (node.optional) lines.Raw("optional", "true");
  }
}

/// Returns a table on one line, or "" if it is empty.
std::string InlineTable(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string text;
  for (const auto& [key, value] : pairs) {
    text += Format("{} {} = {}", text.empty() ? "" : ",", key, value);
  }
  return text.empty() ? "" : "{" + text + " }";
}

std::string UdevText(const NewUdev& udev) {
  std::vector<std::pair<std::string, std::string>> keys;
  if (!udev.subsystem.empty()) keys.emplace_back("subsystem", QuoteToml(udev.subsystem));
  if (!udev.driver.empty()) keys.emplace_back("driver", QuoteToml(udev.driver));
  for (const auto& [key, values] :
       {std::pair("properties", &udev.properties), std::pair("attributes", &udev.attributes)}) {
    auto quoted = *values;
    for (auto& [name, value] : quoted) value = QuoteToml(value);
    if (std::string table = InlineTable(quoted); !table.empty()) keys.emplace_back(key, table);
  }
  return InlineTable(keys);
}

void WriteMatch(const NewMatch& match, TableWriter lines) {
  lines.Comments(match.notes);
  lines.Header("[[resource.match]]");
  lines.Key("path", match.paths);
  lines.Key("regex", match.regex);
  lines.Key("usb", match.usb);
  lines.Key("serial", match.serial);
  lines.Key("usb_port", match.usb_port);
  lines.Key("pci", match.pci);
  lines.Key("pci_address", match.pci_address);
  if (const std::string udev = UdevText(match.udev); !udev.empty()) lines.Raw("udev", udev);
  if (match.allow_mounted) lines.Raw("allow_mounted", "true");
  lines.Key("type", match.type);
  lines.Key("group_by", match.group_by);
  if (match.together) lines.Raw("together", "true");
  lines.Key("id", match.id);
  lines.Key("require", match.require);
  if (match.max_devices > 0) lines.Raw("max_devices", Format("{}", match.max_devices));
}

void WriteMount(const NewMount& mount, TableWriter lines) {
  lines.Comments(mount.notes);
  lines.Header("[[resource.mount]]");
  lines.Key("host_path", mount.host_path);
  lines.Key("container_path", mount.container_path);
  lines.Raw("read_only", mount.read_only ? "true" : "false");
  if (mount.optional) lines.Raw("optional", "true");
}

/// Makes comments of the lines from `start` on.
void CommentOut(std::string& text, std::size_t start) {
  while (start < text.size()) {
    text.insert(start, text[start] == '\n' ? "#" : "# ");
    start = text.find('\n', start) + 1;
  }
}

void WriteResource(const NewResource& resource, std::string& out) {
  const std::size_t start = out.size();
  const auto is_comment = [](const NewMatch& match) { return match.is_comment; };
  const bool is_all_comment =
      !resource.matches.empty() && std::ranges::all_of(resource.matches, is_comment);
  TableWriter lines(out, "");
  lines.Comments(resource.notes);
  lines.Header("[[resource]]");
  lines.Key("name", resource.name);
  if (resource.replicas != 1) lines.Raw("replicas", Format("{}", resource.replicas));
  if (!resource.on_nodes.empty()) lines.Raw("on_nodes", TomlList(resource.on_nodes));
  const auto part = [&] {
    out += "\n";
    return TableWriter(out, "  ");
  };
  for (const NewMatch& match : resource.matches) {
    TableWriter to = part();
    const std::size_t start_of_match = out.size();
    WriteMatch(match, to);
    WriteNodes(match.nodes, "resource.match", "    ", out);
    if (match.is_comment && !is_all_comment) CommentOut(out, start_of_match);
  }
  WriteNodes(resource.nodes, "resource", "  ", out);
  for (const NewMount& mount : resource.mounts) WriteMount(mount, part());
  if (!resource.env.empty()) {
    TableWriter env = part();
    env.Header("[resource.env]");
    for (const auto& [name, value] : resource.env) env.Raw(name, QuoteToml(value));
  }
  if (is_all_comment) CommentOut(out, start);
}

void WriteRefusal(const Refusal& refusal, std::string& out) {
  TableWriter lines(out, "");
  lines.Comments({"NOT CONVERTED: " + refusal.what});
  for (const Diagnostic& reason : refusal.reasons) {
    const bool has_line = reason.place.line > 0;
    lines.Comments({Format("Reason{}: {}.", has_line ? Format(" (line {})", reason.place.line) : "",
                           reason.message)});
    if (!reason.hint.empty()) lines.Comments({Format("Hint: {}.", reason.hint)});
  }
  std::string_view rest = refusal.text;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\n'), rest.size());
    out += end == 0 ? "#\n" : Format("#   {}\n", Printable(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

}  // namespace

void AddOnce(std::string note, Notes& notes) {
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
}

std::string WriteToml(const NewFile& file) {
  std::string out;
  TableWriter(out, "").Comments(file.notes);
  for (const NewResource& resource : file.resources) {
    if (!out.empty()) out += "\n";
    WriteResource(resource, out);
  }
  for (const Refusal& refusal : file.refused) {
    out += "\n";
    WriteRefusal(refusal, out);
  }
  if (!file.end_notes.empty()) out += "\n";
  TableWriter(out, "").Comments(file.end_notes);
  return out;
}

std::string EscapedForTemplate(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    escaped.push_back(c);
    if (c == '{' || c == '}') escaped.push_back(c);
  }
  return escaped;
}

}  // namespace patchbay
