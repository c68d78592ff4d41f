#include "config/source_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/format.h"
#include "os/read_file.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

const std::string kCannotBeRead = "cannot be read: ";

void Refuse(const std::string& path, std::string message, Reporter& reporter) {
  const bool lacks_right = message.ends_with(std::strerror(EACCES));
  const std::string_view how = path == kDefaultConfig ? ", with --config or PATCHBAY_CONFIG" : "";
  reporter.Report(Code::kUnreadableFile, {path, 0, 0}, std::move(message),
                  lacks_right ? "run as root, or let this user read it and enter its directory"
                              : Format("specify a file, or a directory with *.toml files{}", how));
}

std::string_view Described(fs::file_type type) {
  switch (type) {
    case fs::file_type::fifo: return "it is a FIFO";
    case fs::file_type::socket: return "it is a socket";
    case fs::file_type::block:
    case fs::file_type::character: return "it is a device";
    default: return "of unknown type";
  }
}

bool IsTooLarge(const SourceFiles& sources) {
  std::size_t bytes = 0;
  for (const SourceFile& file : sources.files) bytes += file.text.size();
  return bytes > kLargestInput;
}

void ReadFile(const std::string& path, Reporter& reporter, SourceFiles& out) {
  if (IsTooLarge(out)) return;
  auto file = ReadFileContent(path, kLargestSource);
  if (!file) return Refuse(path, file.error().message, reporter);
  out.files.push_back({path, std::move(file->text)});
  out.are_being_written = out.are_being_written || file->is_being_written;
  if (!IsTooLarge(out)) return;
  reporter.Report(Code::kUnreadableFile, {path, 0, 0},
                  Format("with this file the input is larger than {} bytes", kLargestInput),
                  "keep only configuration files in the directory");
}

void ReadDirectory(const std::string& path, Reporter& reporter, SourceFiles& out) {
  std::error_code error;
  std::vector<std::string> files;
  bool odd = false;
  fs::directory_iterator entries(path, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename();
    if (name.starts_with('.') || !name.ends_with(".toml")) continue;
    std::error_code unknown;
    const fs::file_type type = entries->status(unknown).type();
    // A dangling link is kept, so that reading it reports an error.
    if (type == fs::file_type::regular || type == fs::file_type::not_found) {
      files.push_back(entries->path());
    } else if (type != fs::file_type::directory) {
      odd = true;
      reporter.Report(Code::kUnreadableFile, {entries->path(), 0, 0},
                      Format("{}{}, not a file", kCannotBeRead, Described(type)),
                      "remove it, or rename it so that it does not end in .toml");
    }
  }
  if (error) return Refuse(path, kCannotBeRead + error.message(), reporter);
  if (files.empty() && !odd) {
    reporter.Report(Code::kUnreadableFile, {path, 0, 0}, "the directory contains no *.toml file",
                    "names that start with a dot are ignored");
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) ReadFile(file, reporter, out);
}

}  // namespace

SourceFiles ReadSources(const std::vector<std::string>& paths, Reporter& reporter) {
  SourceFiles sources;
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::is_directory(status)) {
      ReadDirectory(path, reporter, sources);
    } else if (fs::is_regular_file(status)) {
      ReadFile(path, reporter, sources);
    } else if (error) {
      Refuse(path, kCannotBeRead + error.message(), reporter);
    } else {
      Refuse(path, kCannotBeRead + "neither a file nor a directory", reporter);
    }
  }
  return sources;
}

}  // namespace patchbay
