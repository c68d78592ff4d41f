// bad_samples DIRECTORY: writes the texts of bad_samples.h to 0.toml, 1.toml and so on in that
// directory, and prints a line for each, such as "0 error unknown-key".
#include "bad_samples.h"

#include <fstream>
#include <iostream>

#include "config/diagnostic_code.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: bad_samples DIRECTORY\n";
    return 2;
  }
  int number = 0;
  for (const patchbay::test::Sample& sample : patchbay::test::BadSamples()) {
    std::ofstream file(patchbay::Format("{}/{}.toml", argv[1], number));
    file << sample.text << std::flush;
    if (!file) {
      std::cerr << argv[1] << " cannot be written\n";
      return 1;
    }
    const std::string_view code =
        std::string_view(sample.finding).substr(sample.finding.find(' ') + 1);
    for (const patchbay::CodeInfo& info : patchbay::AllCodes()) {
      if (info.name == code)
        std::cout << number << " " << Name(info.severity) << " " << code << "\n";
    }
    ++number;
  }
  return 0;
}
