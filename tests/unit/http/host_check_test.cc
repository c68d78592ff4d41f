// Checks of the Host header.

#include "http/host_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/spec.h"

namespace patchbay {
namespace {

using testing::HasSubstr;

std::vector<NamePattern> Patterns(const std::vector<std::string>& texts) {
  std::vector<NamePattern> patterns;
  for (const std::string& text : texts) patterns.push_back(NamePattern::Compile(text).value());
  return patterns;
}

TEST(IsHostAccepted, AcceptsIpAddressesLocalhostAndTheNodeName) {
  for (const char* host :
       {"", "10.1.2.3", "10.1.2.3:9478", "[::1]", "[::1]:9478", "[fd00::7]:80", "localhost",
        "localhost:9478", "LOCALHOST", "localhost.", "node-1.example.com",
        "Node-1.Example.COM:9478", "node-1.example.com.", "[fe80::1%25eth0]:9478"}) {
    EXPECT_TRUE(IsHostAccepted(host, "node-1.example.com", {})) << host;
  }
}

TEST(IsHostAccepted, RejectsOtherNames) {
  for (const char* host : {"evil.example",
                           "evil.example:9478",
                           "evil",
                           "node-1",
                           "node-1.example.com.evil.example",
                           "xnode-1.example.com",
                           "svc.example",
                           "patchbay.svc.evil.example",
                           "10.1.2.3.evil.example",
                           "1.2.3.4.5",
                           "[evil.example]",
                           "[",
                           "[]",
                           ":9478",
                           ".",
                           "[::1]evil.example",
                           "127.0.0.1:80@evil.example",
                           "[::1]:x",
                           "a.svc\r\nx.y",
                           "127.0.0.1@evil.example"}) {
    EXPECT_FALSE(IsHostAccepted(host, "node-1.example.com", {})) << host;
  }
}

TEST(IsHostAccepted, AcceptsServiceNamesByDefault) {
  const std::vector<NamePattern> names = DaemonSpec().hosts;
  EXPECT_TRUE(IsHostAccepted("patchbay.monitoring.svc:9478", "n", names));
  EXPECT_TRUE(IsHostAccepted("patchbay.monitoring.svc.cluster.local", "n", names));
  EXPECT_FALSE(IsHostAccepted("patchbay.svc.evil.example", "n", names));
  EXPECT_FALSE(IsHostAccepted("svc", "n", names));
}

TEST(IsHostAccepted, AcceptsConfiguredNames) {
  const auto names = Patterns({"patchbay.example.com", "*.nodes.example.org"});
  EXPECT_TRUE(IsHostAccepted("patchbay.example.com:443", "n", names));
  EXPECT_TRUE(IsHostAccepted("PATCHBAY.example.com", "n", names));
  EXPECT_TRUE(IsHostAccepted("a.b.nodes.example.org", "n", names));
  EXPECT_FALSE(IsHostAccepted("nodes.example.org", "n", names));
  EXPECT_FALSE(IsHostAccepted("patchbay.example.com.evil.example", "n", names));
  EXPECT_TRUE(IsHostAccepted("anything.example", "n", Patterns({"*"})));
}

TEST(CheckHost, RejectsOtherNamesWithAHint) {
  const HttpHandler handler = CheckHost(
      [](const HttpRequest&) {
        return HttpResponse{200, kPlainText, "metrics"};
      },
      "node-1", {});
  HttpRequest request{.path = "/metrics"};
  request.host = "evil.example\x1b[2J";
  const auto refused = std::get<HttpResponse>(handler(request));
  EXPECT_EQ(refused.status, 421);
  EXPECT_THAT(refused.body,
              HasSubstr("serve the host evil.example\\x1b[2J; use the IP address, or"));
  EXPECT_THAT(refused.body, HasSubstr("hosts in [daemon]"));
  request.host = "127.0.0.1:9478";
  EXPECT_EQ(std::get<HttpResponse>(handler(request)).body, "metrics");
}

}  // namespace
}  // namespace patchbay
