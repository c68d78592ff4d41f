#include "model/cluster_config.h"

#include <gmock/gmock.h>

#include <string>

namespace patchbay {
namespace {

using testing::HasSubstr;

ClusterSettings WithToken(std::string server) {
  return {.server = std::move(server), .ca = "/etc/ca.crt", .token_file = "/etc/token"};
}

TEST(ClusterConfigInPod, UsesTheServiceAccount) {
  const auto config = ClusterConfigInPod("10.96.0.1", "443");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->host, "10.96.0.1");
  EXPECT_TRUE(config->is_address);
  EXPECT_TRUE(config->uses_tls);
  EXPECT_EQ(config->ca_file, "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt");
  EXPECT_EQ(config->token_file, "/var/run/secrets/kubernetes.io/serviceaccount/token");
  EXPECT_EQ(UrlOf(*config), "https://10.96.0.1:443");
}

TEST(ClusterConfigInPod, PutsIpv6InBrackets) {
  const auto config = ClusterConfigInPod("fd00::1", "6443");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->host, "fd00::1");
  EXPECT_EQ(HostAndPort(*config), "[fd00::1]:6443");
}

TEST(ClusterConfigInPod, ReportsTheVariable) {
  EXPECT_EQ(ClusterConfigInPod("", "").error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(ClusterConfigInPod("a b", "443").error().message,
              HasSubstr("KUBERNETES_SERVICE_HOST must be"));
  for (const char* port : {"", "0", "65536", "-1", "443x", "tcp://10.0.0.1:443"}) {
    const auto config = ClusterConfigInPod("10.96.0.1", port);
    ASSERT_FALSE(config) << port;
    EXPECT_THAT(config.error().message, HasSubstr("KUBERNETES_SERVICE_PORT must be a port"));
  }
}

TEST(ClusterConfigFrom, ReadsTheServer) {
  struct Case {
    const char* server;
    const char* url;
    bool is_address;
  };
  for (const auto& [server, url, is_address] :
       {Case{"https://10.0.0.1:6443", "https://10.0.0.1:6443", true},
        Case{"https://[fd00::1]:6443/", "https://[fd00::1]:6443", true},
        Case{"https://[::1]", "https://[::1]:443", true},
        Case{"https://api.example.com", "https://api.example.com:443", false},
        Case{"https://k8s-1:6443", "https://k8s-1:6443", false}}) {
    const auto config = ClusterConfigFrom(WithToken(server));
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(UrlOf(*config), url);
    EXPECT_EQ(config->is_address, is_address);
  }
}

TEST(ClusterConfigFrom, RefusesOtherUrls) {
  for (const char* server : {"",
                             "10.0.0.1",
                             "ftp://x",
                             "https://",
                             "https://a/b",
                             "https://user@a",
                             "https://a?b",
                             "https://a:",
                             "https://a:0",
                             "https://a:99999",
                             "https://a:1:2",
                             "https://[::1",
                             "https://::1",
                             "https://[10.0.0.1]",
                             "https://[::1]x",
                             "https://a..b",
                             "https://-a",
                             "https://a-",
                             "https://a.-b",
                             "https://1.2.3",
                             "https://[fe80::1%eth0]",
                             "https://a\r\nb",
                             "https://a b",
                             "https://\xc3\xa9"}) {
    const auto config = ClusterConfigFrom(WithToken(server));
    ASSERT_FALSE(config) << server;
    EXPECT_EQ(config.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(config.error().message, HasSubstr("server must"));
  }
}

TEST(ClusterConfigFrom, RefusesPlainHttpExceptOnLoopback) {
  EXPECT_THAT(ClusterConfigFrom(WithToken("http://127.0.0.1:80")).error().message,
              HasSubstr("use https://"));
  EXPECT_FALSE(ClusterConfigFrom(WithToken("http://10.0.0.1"), PlainHttp::kOnLoopback));
  EXPECT_FALSE(ClusterConfigFrom(WithToken("http://localhost"), PlainHttp::kOnLoopback));
  const auto config = ClusterConfigFrom({.server = "http://[::1]:8001"}, PlainHttp::kOnLoopback);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_FALSE(config->uses_tls);
}

TEST(ClusterConfigFrom, RefusesRelativePaths) {
  const auto problem = [](const ClusterSettings& settings) {
    const auto config = ClusterConfigFrom(settings);
    return config ? "" : config.error().message;
  };
  const std::string server = "https://a";
  EXPECT_EQ(problem(WithToken(server)), "");
  EXPECT_EQ(problem({server, "/ca", "", "/cert", "/key"}), "");
  EXPECT_THAT(problem({server, "ca", "/token", "", ""}), HasSubstr("ca must be an absolute path"));
  EXPECT_THAT(problem({server, "/ca", "/a/../token", "", ""}),
              HasSubstr("token_file must be an absolute path"));
}

}  // namespace
}  // namespace patchbay
