#include "model/resource_name.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

std::string Domain(std::size_t size) {
  std::string domain;
  while (domain.size() + 50 < size) domain += std::string(49, 'd') + ".";
  return domain + std::string(size - domain.size(), 'd');
}

TEST(ResourceName, AcceptsNamesAcceptedByTheKubelet) {
  for (const std::string& name :
       {std::string("a/b"), std::string("example.com/serial"), std::string("a-b.c/X_y.z-9"),
        "a.com/" + std::string(63, 'x'), Domain(244) + "/x", std::string(63, 'a') + "/x",
        std::string("notkubernetes.iox/x")}) {
    EXPECT_FALSE(ProblemWithResourceName(name)) << name << ": " << *ProblemWithResourceName(name);
  }
}

TEST(ResourceName, RejectsNamesRejectedByTheKubelet) {
  for (const std::string& name : {std::string(""),
                                  std::string("noslash"),
                                  std::string("a/b/c"),
                                  std::string("/x"),
                                  std::string("a/"),
                                  std::string("A.com/x"),
                                  std::string("a_b.com/x"),
                                  std::string("a..com/x"),
                                  std::string(".a/x"),
                                  std::string("-a/x"),
                                  std::string("a-/x"),
                                  std::string("a.com/-x"),
                                  std::string("a.com/x-"),
                                  std::string("a.com/x y"),
                                  std::string("a.com/é"),
                                  std::string("kubernetes.io/x"),
                                  std::string("x.kubernetes.io/y"),
                                  std::string("xkubernetes.io/y"),
                                  std::string("requests.a/b"),
                                  "a.com/" + std::string(64, 'x'),
                                  Domain(245) + "/x",
                                  std::string(64, 'a') + ".com/x",
                                  std::string("a.com/x\n"),
                                  std::string("a.com/x\0", 8)}) {
    EXPECT_TRUE(ProblemWithResourceName(name)) << name;
  }
}

}  // namespace
}  // namespace patchbay
