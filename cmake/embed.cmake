# Writes the source of PageFiles(), see src/http/page_files.h: cmake -DFILES=a;b -DOUT=x.cc -P embed.cmake
set(arrays)
set(entries)
set(count 0)
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  file(READ ${file} bytes HEX)
  file(SHA256 ${file} hash)
  string(SUBSTRING ${hash} 0 16 tag)
  string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
  string(APPEND arrays "constexpr char kPageFile${count}[] = \"${bytes}\";\n")
  string(APPEND entries
    "    {\"${name}\", {kPageFile${count}, sizeof kPageFile${count} - 1}, \"\\\"${tag}\\\"\"},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUT} "#include \"http/page_files.h\"

namespace patchbay {
namespace {

${arrays}
constexpr PageFile kPageFiles[] = {
${entries}};

}  // namespace

std::span<const PageFile> PageFiles() { return kPageFiles; }

}  // namespace patchbay
")
