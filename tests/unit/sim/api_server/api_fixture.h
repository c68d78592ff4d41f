#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "objects.h"
#include "sim/api_server/api.h"
#include "sim/api_server/field_errors.h"

namespace patchbay::test {

inline const std::string kSlices = "/apis/resource.k8s.io/v1/resourceslices";
inline const std::string kClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
inline const std::string kClasses = "/apis/resource.k8s.io/v1/deviceclasses";
inline const std::string kNodes = "/api/v1/nodes";

inline api_sim::Json Node(const std::string& name) {
  return {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", name}}}};
}

/// A parsed response.
struct ApiReply {
  int status = 0;
  api_sim::Json body;
};

/// Sends requests to an Api at a fixed time.
class ApiFixture : public testing::Test {
 public:
  ApiReply Send(const std::string& method, const std::string& target,
                const api_sim::Json& body = {},
                const std::string& content_type = "application/json") {
    const auto response = api_.Handle({.method = method,
                                       .target = target,
                                       .body = body.is_null() ? "" : body.dump(),
                                       .content_type = content_type},
                                      now_);
    return {response.status, api_sim::Json::parse(response.body, nullptr, false)};
  }
  ApiReply Get(const std::string& target) { return Send("GET", target); }
  /// Creates an object and returns what is stored.
  api_sim::Json Create(const std::string& collection, const api_sim::Json& object) {
    const ApiReply reply = Send("POST", collection, object);
    EXPECT_EQ(reply.status, 201) << reply.body;
    return reply.body;
  }
  std::vector<std::string> Names(const std::string& target) {
    std::vector<std::string> names;
    const api_sim::Json list = Get(target).body;
    for (const auto& item : list["items"]) {
      names.emplace_back(item["metadata"]["name"].get<std::string>());
    }
    return names;
  }
  static std::string VersionOf(const api_sim::Json& object) {
    return object["metadata"]["resourceVersion"].get<std::string>();
  }

 protected:
  api_sim::Api::Time now_{std::chrono::seconds(1'769'860'800)};  // 2026-01-31T12:00:00Z
  api_sim::Api api_;
};

}  // namespace patchbay::test
