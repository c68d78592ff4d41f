#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "base/escape.h"
#include "base/format.h"
#include "cli/commands.h"
#include "cli/explanation.h"
#include "cli/load.h"

namespace patchbay {
namespace {

using Json = nlohmann::ordered_json;

std::string LookText(const MatchReport::Look& look) {
  if (!look.problem.empty()) return format("{}: {}", look.place, look.problem);
  return format("{}: {} names, {} of them fit", look.place, look.seen, look.matched);
}

std::string RenderMatch(const Explanation::Match& match, std::size_t number) {
  std::string out = format("  match {}: {}\n", number, Printable(match.text));
  const auto line = [&](std::string_view label, const std::string& text) {
    out += format("    {:<10} {}\n", label, Printable(text));
  };
  std::set<std::string_view> said;  // one mount or right mends many things
  const auto hint = [&](const std::string& text) {
    if (!text.empty() && said.insert(text).second) line("hint", text);
  };
  for (const Explanation::Look& look : match.looks) {
    line("looked at", LookText(look));
    hint(look.hint);
  }
  for (const Explanation::Verdict& verdict : match.verdicts) {
    line(verdict.outcome, verdict.why.empty() ? verdict.what : verdict.what + ": " + verdict.why);
    hint(verdict.hint);
  }
  if (match.left_out > 0) line("", format("and {} more", match.left_out));
  hint(match.hint);
  return out;
}

std::string RenderText(const std::vector<Explanation>& explanations) {
  std::string out;
  for (const Explanation& explanation : explanations) {
    if (!out.empty()) out += "\n";
    out += format("{}: {} {} listed\n", explanation.resource, explanation.listed,
                  explanation.listed == 1 ? "device" : "devices");
    for (std::size_t i = 0; i < explanation.matches.size(); ++i) {
      out += RenderMatch(explanation.matches[i], i + 1);
    }
    out += format("  NUMA nodes: {}\n", Printable(explanation.numa));
    for (const std::string& shared : explanation.shared) {
      out += format("  shared: {}; the kubelet may give it out twice\n", Printable(shared));
    }
  }
  return out;
}

Json MatchJson(const Explanation::Match& match) {
  Json looks = Json::array(), verdicts = Json::array();
  for (const Explanation::Look& look : match.looks) {
    looks.push_back({{"place", Printable(look.place)},
                     {"names", look.seen},
                     {"fitting", look.matched},
                     {"problem", Printable(look.problem)},
                     {"hint", Printable(look.hint)}});
  }
  for (const Explanation::Verdict& verdict : match.verdicts) {
    verdicts.push_back({{"outcome", verdict.outcome},
                        {"what", Printable(verdict.what)},
                        {"why", Printable(verdict.why)},
                        {"hint", Printable(verdict.hint)}});
  }
  return {{"match", Printable(match.text)},
          {"looked_at", std::move(looks)},
          {"verdicts", std::move(verdicts)},
          {"left_out", match.left_out},
          {"hint", match.hint}};
}

std::string RenderJson(const std::vector<Explanation>& explanations) {
  Json resources = Json::array();
  for (const Explanation& explanation : explanations) {
    Json matches = Json::array();
    for (const Explanation::Match& match : explanation.matches) {
      matches.push_back(MatchJson(match));
    }
    resources.push_back({{"name", explanation.resource},
                         {"listed", explanation.listed},
                         {"matches", std::move(matches)},
                         {"numa", explanation.numa},
                         {"shared", explanation.shared}});
  }
  return Json{{"resources", std::move(resources)}}.dump(2, ' ', false,
                                                        Json::error_handler_t::replace) +
         "\n";
}

Result<std::vector<Explanation>> ExplainHost(const Model& model, const Arguments& arguments) {
  // All are looked at, also where one is asked for: they may have its nodes.
  const auto inspections =
      TRY(InspectHost(model, {.node_name = NodeName(), .report = true, .path = arguments.path}));
  auto explanations = Explain(inspections);
  if (!arguments.path.empty()) NarrowToPath(inspections, arguments.path, explanations);
  if (arguments.resource.empty()) return explanations;
  TRY(CheckResource(model, arguments.resource, NodeName()));
  std::erase_if(explanations,
                [&](const Explanation& e) { return e.resource != arguments.resource; });
  return explanations;
}

}  // namespace

int RunExplain(const Arguments& arguments, Streams streams) {
  const auto model = LoadOrReport(arguments, streams);
  if (!model) return kFailed;
  const auto explanations = ExplainHost(*model, arguments);
  if (!explanations) {
    streams.err << "patchbay: " << Printable(explanations.error().message) << "\n";
    return kFailed;
  }
  streams.out << (arguments.output == Output::kJson ? RenderJson(*explanations)
                                                    : RenderText(*explanations));
  return kOk;
}

}  // namespace patchbay
