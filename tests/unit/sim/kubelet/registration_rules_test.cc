#include "sim/kubelet/registration_rules.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

struct NameCase {
  std::string name;
  bool accepted;
};

class ResourceNames : public testing::TestWithParam<NameCase> {};

TEST_P(ResourceNames, AreAcceptedLikeTheKubelet) {
  EXPECT_EQ(IsExtendedResourceName(GetParam().name), GetParam().accepted) << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(
    All, ResourceNames,
    testing::Values(NameCase{"example.com/serial", true}, NameCase{"a/b", true},
                    NameCase{"a/B_c.d-E", true}, NameCase{"a/" + std::string(63, 'x'), true},
                    NameCase{"a/" + std::string(64, 'x'), false},
                    NameCase{std::string(244, 'a') + "/x", true},
                    NameCase{std::string(245, 'a') + "/x", false}, NameCase{"", false},
                    NameCase{"noslash", false}, NameCase{"a/b/c", false},
                    NameCase{"kubernetes.io/x", false}, NameCase{"x.kubernetes.io/y", false},
                    NameCase{"xkubernetes.io/y", false}, NameCase{"requests.a/b", false},
                    NameCase{"A.com/x", false}, NameCase{"a_b/x", false}, NameCase{"a..b/x", false},
                    NameCase{"-a/x", false}, NameCase{"a-/x", false}, NameCase{"a./x", false},
                    NameCase{"/x", false}, NameCase{"a.com/", false}, NameCase{"a.com/-x", false},
                    NameCase{"a.com/x-", false}, NameCase{"a.com/x y", false},
                    NameCase{"a.com/\xc3\xa4", false}));

TEST(CheckRegister, ChecksTheVersionFirst) {
  EXPECT_TRUE(CheckRegister("v1beta1", "a/b"));
  EXPECT_EQ(CheckRegister("v1", "").error().message,
            "requested API version \"v1\" is not supported by kubelet. Supported version is "
            "[\"v1beta1\"]");
  EXPECT_EQ(CheckRegister("v1beta1", "x").error().message, "the ResourceName \"x\" is invalid");
}

TEST(JoinEndpoint, CleansThePath) {
  EXPECT_EQ(JoinEndpoint("/d/p", "x.sock"), "/d/p/x.sock");
  EXPECT_EQ(JoinEndpoint("/d/p/", "/x.sock"), "/d/p/x.sock");
  EXPECT_EQ(JoinEndpoint("/d/p", "../x.sock"), "/d/x.sock");
  EXPECT_EQ(JoinEndpoint("/d/p", ""), "/d/p");
}

}  // namespace
}  // namespace patchbay
