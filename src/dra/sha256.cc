#include "dra/sha256.h"

#include <openssl/sha.h>

namespace patchbay {

std::array<unsigned char, 32> Sha256(std::string_view text) {
  std::array<unsigned char, 32> hash;
  static_assert(sizeof hash == SHA256_DIGEST_LENGTH);
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data());
  return hash;
}

}  // namespace patchbay
