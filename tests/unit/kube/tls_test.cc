// The verification of the server and the authentication of the client, over a real connection.

#include <gmock/gmock.h>
#include <openssl/ssl.h>

#include "unit/kube/client_fixture.h"

namespace patchbay {
namespace {

using std::chrono::hours;
using test::Certificate;
using test::CertificateAuthority;
using test::JsonReply;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class Tls : public test::ClientFixture {};

TEST_F(Tls, AcceptsTheServerByAddressAndByName) {
  Serve();
  EXPECT_TRUE(Send());
  EXPECT_EQ(server_->server_name(), "");
  Connect(Config("localhost"));
  EXPECT_EQ(Error(), "no error: {}");
  EXPECT_EQ(server_->server_name(), "localhost");
}

TEST_F(Tls, VerifiesAnIpv6Address) {
  try {
    server_.emplace(
        loop_.io(), authority_.Issue(),
        [](const test::ServerRequest&) { return JsonReply(200, "{}"); }, 0, "",
        boost::asio::ip::address_v6::loopback());
  } catch (const boost::system::system_error&) {
    GTEST_SKIP() << "this host has no IPv6";
  }
  Connect(Config("[::1]"));
  EXPECT_EQ(Error(), "no error: {}");
  EXPECT_EQ(server_->requests().at(0)["Host"], "[::1]:" + std::to_string(server_->port()));
  server_->UseCertificate(authority_.Issue({.alternative_names = "IP:::2,IP:127.0.0.1"}));
  Connect(Config("[::1]"));
  EXPECT_THAT(Error(), HasSubstr("IP address mismatch"));
}

TEST_F(Tls, RefusesACertificateForAnotherName) {
  Serve();
  server_->UseCertificate(authority_.Issue(
      {.alternative_names = "DNS:other.example,DNS:*.localhost", .common_name = "localhost"}));
  EXPECT_THAT(Error(), AllOf(StartsWith("tls: "), HasSubstr("IP address mismatch"),
                             HasSubstr("subject alternative names")));
  Connect(Config("localhost"));
  EXPECT_THAT(Error(), AllOf(StartsWith("tls: "), HasSubstr("ostname mismatch")));
  EXPECT_TRUE(server_->requests().empty());
}

TEST_F(Tls, RefusesAnAddressThatIsOnlyADnsName) {
  Serve();
  server_->UseCertificate(authority_.Issue({.alternative_names = "DNS:127.0.0.1"}));
  EXPECT_THAT(Error(), HasSubstr("IP address mismatch"));
}

TEST_F(Tls, RefusesTheCommonName) {
  Serve();
  server_->UseCertificate(authority_.Issue({.alternative_names = "", .common_name = "localhost"}));
  Connect(Config("localhost"));
  EXPECT_THAT(Error(), HasSubstr("ostname mismatch"));
}

TEST_F(Tls, RefusesExpiredAndFutureCertificates) {
  Serve();
  server_->UseCertificate(authority_.Issue({.valid_from = -hours(2), .valid_until = -hours(1)}));
  EXPECT_THAT(Error(), AllOf(StartsWith("tls: "), HasSubstr("has expired"), HasSubstr("clock")));
  server_->UseCertificate(authority_.Issue({.valid_from = hours(1), .valid_until = hours(2)}));
  EXPECT_THAT(Error(), AllOf(StartsWith("tls: "), HasSubstr("not yet valid")));
}

TEST_F(Tls, RefusesAnotherAuthority) {
  Serve();
  server_->UseCertificate(CertificateAuthority().Issue());
  EXPECT_THAT(Error(), AllOf(StartsWith("tls: "), HasSubstr("check that the CA file")));
  EXPECT_TRUE(server_->requests().empty());
}

TEST_F(Tls, ReadsAReplacedCaAtOnce) {
  Serve([](const test::ServerRequest&) { return JsonReply(200, "{}", "Connection: close\r\n"); });
  ASSERT_TRUE(Send());
  const CertificateAuthority replacement;
  server_->UseCertificate(replacement.Issue());
  EXPECT_THAT(Error(), StartsWith("tls: "));
  tree_.File("ca.crt", replacement.pem());
  EXPECT_EQ(Error(), "no error: {}");
}

TEST_F(Tls, TrustsEveryCertificateOfTheCaFile) {
  Serve();
  tree_.File("ca.crt", CertificateAuthority().pem() + authority_.pem());
  EXPECT_EQ(Error(), "no error: {}");
}

TEST_F(Tls, TrustsTheCertificateOfTheServerItself) {
  Serve();
  const Certificate certificate = authority_.Issue();
  server_->UseCertificate(certificate);
  tree_.File("ca.crt", certificate.pem);
  EXPECT_EQ(Error(), "no error: {}");
}

TEST_F(Tls, RefusesVersionsBefore12) {
  Serve();
  server_->SetMaxTlsVersion(TLS1_2_VERSION);
  EXPECT_EQ(Error(), "no error: {}");
  server_->SetMaxTlsVersion(TLS1_1_VERSION);
  Connect(Config());
  EXPECT_THAT(Error(), AllOf(StartsWith("tls: "), HasSubstr("TLS with https://127.0.0.1")));
}

TEST_F(Tls, ReportsAServerWithoutTls) {
  server_.emplace(loop_.io(), std::nullopt,
                  [](const test::ServerRequest&) { return JsonReply(200, "{}"); });
  Connect(Config());
  EXPECT_THAT(Error(), StartsWith("tls: "));
}

TEST_F(Tls, AuthenticatesWithAClientCertificate) {
  const CertificateAuthority client_authority;
  server_.emplace(
      loop_.io(), authority_.Issue(),
      [](const test::ServerRequest&) { return JsonReply(200, "{}"); }, 0, client_authority.pem());
  ClusterConfig config = Config();
  config.token_file.clear();
  config.client_certificate_file = tree_.path("client.crt");
  config.client_key_file = tree_.path("client.key");
  Connect(config);
  const auto write = [&](const Certificate& certificate) {
    tree_.File("client.crt", certificate.pem);
    tree_.File("client.key", certificate.key);
  };
  write(CertificateAuthority().Issue());
  EXPECT_THAT(Error(), AllOf(StartsWith("tls: "), HasSubstr("accepts the client certificate")));
  write(client_authority.Issue());
  EXPECT_EQ(Error(), "no error: {}");
  EXPECT_EQ(Authorization(0), "");
}

TEST(TlsContext, ReportsInvalidFiles) {
  const CertificateAuthority authority;
  const Certificate client = authority.Issue();
  const auto problem = [](const TlsFiles& files) { return MakeTlsContext(files).error().message; };
  EXPECT_THAT(problem({"", "", ""}), HasSubstr("the CA file is empty"));
  EXPECT_THAT(problem({"text", "", ""}), HasSubstr("the CA file is not a valid PEM file"));
  EXPECT_THAT(problem({authority.pem(), "text", client.key}), HasSubstr("the client certificate"));
  EXPECT_THAT(problem({authority.pem(), client.pem, "text"}),
              HasSubstr("the client key cannot be used"));
  EXPECT_THAT(problem({authority.pem(), client.pem, authority.Issue().key}),
              HasSubstr("key values mismatch"));
  EXPECT_TRUE(MakeTlsContext({authority.pem(), client.pem, client.key}));
}

TEST(TlsContext, DeniesRenegotiation) {
  namespace ssl = boost::asio::ssl;
  const CertificateAuthority authority;
  const Certificate certificate = authority.Issue();
  const auto client_context = MakeTlsContext({authority.pem(), "", ""}).value();
  ssl::context server_context(ssl::context::tlsv12_server);  // TLS 1.3 has no renegotiation
  server_context.use_certificate(boost::asio::buffer(certificate.pem), ssl::context::pem);
  server_context.use_private_key(boost::asio::buffer(certificate.key), ssl::context::pem);
  const std::unique_ptr<SSL, decltype(&SSL_free)> client(SSL_new(client_context->native_handle()),
                                                         SSL_free);
  const std::unique_ptr<SSL, decltype(&SSL_free)> server(SSL_new(server_context.native_handle()),
                                                         SSL_free);
  BIO* client_end = nullptr;
  BIO* server_end = nullptr;
  ASSERT_EQ(BIO_new_bio_pair(&client_end, 0, &server_end, 0), 1);
  SSL_set_bio(client.get(), client_end, client_end);
  SSL_set_bio(server.get(), server_end, server_end);
  SSL_set_connect_state(client.get());
  SSL_set_accept_state(server.get());
  // Each call handles what the other end has sent, and does not wait for more.
  char byte = 0;
  const auto exchange = [&] {
    for (int i = 0; i < 10; ++i) {
      for (SSL* end : {client.get(), server.get()}) SSL_read(end, &byte, 1);
    }
  };
  exchange();
  ASSERT_TRUE(SSL_is_init_finished(client.get()));
  ASSERT_TRUE(SSL_is_init_finished(server.get()));
  ASSERT_EQ(SSL_renegotiate(server.get()), 1);
  SSL_do_handshake(server.get());
  exchange();
  EXPECT_EQ(SSL_num_renegotiations(client.get()), 0);
}

TEST(TlsContext, AsksForNoPassphrase) {
  const CertificateAuthority authority;
  const Certificate client = authority.Issue();
  const auto key = test::EncryptKey(client.key, "secret");
  EXPECT_THAT(MakeTlsContext({authority.pem(), client.pem, key}).error().message,
              HasSubstr("without a passphrase"));
}

}  // namespace
}  // namespace patchbay
