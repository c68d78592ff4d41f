#include "dra/sha256.h"

#include <openssl/sha.h>

#include "base/format.h"

namespace patchbay {

std::array<unsigned char, 32> Sha256(std::string_view text) {
  std::array<unsigned char, 32> hash;
  static_assert(sizeof hash == SHA256_DIGEST_LENGTH);
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data());
  return hash;
}

std::string HashDigits(std::string_view text, std::size_t digits) {
  const auto hash = Sha256(text);
  std::string result;
  for (std::size_t i = 0; i < digits / 2; ++i) result += Format("{:02x}", hash[i]);
  return result;
}

}  // namespace patchbay
