#pragma once

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

namespace patchbay::test {

/// A certificate and its key, in PEM.
struct Certificate {
  std::string pem;
  std::string key;
};

struct CertificateOptions {
  std::string alternative_names = "DNS:localhost,IP:127.0.0.1,IP:::1";
  std::string common_name = "server";
  std::chrono::seconds valid_from = -std::chrono::hours(1);   ///< from now
  std::chrono::seconds valid_until = std::chrono::hours(24);  ///< longer than any test
};

/// A certificate authority that is made for one test.
class CertificateAuthority {
 public:
  CertificateAuthority() : key_(NewKey()), certificate_(X509_new(), X509_free) {
    const CertificateOptions options{.alternative_names = "", .common_name = "test authority"};
    Fill(*certificate_, options, *key_, "critical,CA:TRUE");
    Check(X509_sign(certificate_.get(), key_.get(), EVP_sha256()) > 0);
  }

  std::string pem() const { return Pem(*certificate_); }

  Certificate Issue(const CertificateOptions& options = {}) const {
    const Key key = NewKey();
    const std::unique_ptr<X509, decltype(&X509_free)> issued(X509_new(), X509_free);
    Fill(*issued, options, *key, "critical,CA:FALSE");
    Check(X509_sign(issued.get(), key_.get(), EVP_sha256()) > 0);
    const Bio out(BIO_new(BIO_s_mem()), BIO_free);
    Check(PEM_write_bio_PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) ==
          1);
    return {Pem(*issued), Text(*out)};
  }

 private:
  using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
  using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

  static void Check(bool succeeded) {
    if (!succeeded) throw std::runtime_error("OpenSSL failed to make a certificate");
  }

  static Key NewKey() {
    Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
    Check(key != nullptr);
    return key;
  }

  static std::string Text(BIO& bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(&bio, &data);
    return {data, static_cast<std::size_t>(size)};
  }

  static std::string Pem(X509& certificate) {
    const Bio out(BIO_new(BIO_s_mem()), BIO_free);
    Check(PEM_write_bio_X509(out.get(), &certificate) == 1);
    return Text(*out);
  }

  void Extend(X509& certificate, int kind, const std::string& value) const {
    X509V3_CTX context;
    X509V3_set_ctx(&context, certificate_.get(), &certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    Check(extension != nullptr);
    Check(X509_add_ext(&certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
  }

  /// Sets everything but the signature.
  void Fill(X509& certificate, const CertificateOptions& options, EVP_PKEY& key,
            const std::string& constraints) const {
    static long serial = 0;
    Check(X509_set_version(&certificate, X509_VERSION_3) == 1);
    Check(ASN1_INTEGER_set(X509_get_serialNumber(&certificate), ++serial) == 1);
    X509_gmtime_adj(X509_getm_notBefore(&certificate), options.valid_from.count());
    X509_gmtime_adj(X509_getm_notAfter(&certificate), options.valid_until.count());
    Check(X509_set_pubkey(&certificate, &key) == 1);
    X509_NAME* const name = X509_get_subject_name(&certificate);
    Check(X509_NAME_add_entry_by_txt(
              name, "CN", MBSTRING_ASC,
              reinterpret_cast<const unsigned char*>(options.common_name.c_str()), -1, -1, 0) == 1);
    Check(X509_set_issuer_name(&certificate, X509_get_subject_name(certificate_.get())) == 1);
    // Certificate authorities of Kubernetes have the same name after they are replaced; these
    // identifiers distinguish them.
    Extend(certificate, NID_basic_constraints, constraints);
    Extend(certificate, NID_subject_key_identifier, "hash");
    if (&certificate != certificate_.get()) {
      Extend(certificate, NID_authority_key_identifier, "keyid:always");
    }
    if (!options.alternative_names.empty()) {
      Extend(certificate, NID_subject_alt_name, options.alternative_names);
    }
  }

  Key key_;
  std::unique_ptr<X509, decltype(&X509_free)> certificate_;
};

/// Encrypts a key in PEM with a passphrase.
inline std::string EncryptKey(const std::string& pem, const std::string& passphrase) {
  using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
  const Bio in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  const Bio out(BIO_new(BIO_s_mem()), BIO_free);
  if (PEM_write_bio_PrivateKey(out.get(), key.get(), EVP_aes_128_cbc(),
                               reinterpret_cast<const unsigned char*>(passphrase.data()),
                               static_cast<int>(passphrase.size()), nullptr, nullptr) != 1) {
    throw std::runtime_error("OpenSSL failed to encrypt a key");
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace patchbay::test
