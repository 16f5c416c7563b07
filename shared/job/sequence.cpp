#include "shared/job/sequence.hpp"

#include <utility>

#include "shared/base/contains_text.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"

namespace brood {
namespace {

constexpr std::string_view to_pass = "pass", to_wait = "wait";

// A client that wants no sequence may write null or false, as in Ruby.
bool is_falsy(std::string_view json) { return json == "null" || json == "false"; }

template <typename Job>
std::optional<Sequence> sequence_in(const Job& job) {
  auto name = job.string("sequence"), jid = job.string("jid");
  if (!name || !jid || name->empty() || name->size() > longest_sequence || jid->empty()) return std::nullopt;
  return Sequence{std::move(*name), std::move(*jid), job.string("if_failed") == to_pass};
}

}  // namespace

std::optional<Sequence> sequence_named_by(std::string_view payload) {
  if (!contains_text(payload, mark_of_sequence)) return std::nullopt;
  try {
    return sequence_in(JsonObject::parse(payload));
  } catch (const BadJson&) {  // it is in no sequence
    return std::nullopt;
  }
}

std::optional<Sequence> sequence_named_by(const Payload& job) {
  return contains_text(job.text(), mark_of_sequence) ? sequence_in(job) : std::nullopt;
}

std::string problem_of_sequence_member(std::string_view name, std::string_view json) {
  if (is_falsy(json)) return "";
  const JsonObject one = JsonObject::parse("{\"it\":" + std::string(json) + "}");
  const std::optional<std::string> text = one.string("it");
  if (name == "if_failed") {
    const bool is_known = text == to_pass || text == to_wait;
    return is_known ? "" : "if_failed is neither \"pass\" nor \"wait\": " + std::string(json.substr(0, 100));
  }
  if (!text) return "sequence is no text: " + std::string(json.substr(0, 100));
  if (text->empty()) return "sequence is empty";
  if (text->size() > longest_sequence) return "sequence is longer than " + std::to_string(longest_sequence) + " bytes";
  return "";
}

std::string problem_of_sequence(const Payload& job) {
  if (!contains_text(job.text(), mark_of_sequence)) return "";
  const auto sequence = job.raw("sequence");
  if (!sequence || is_falsy(*sequence)) return "";
  if (std::string problem = problem_of_sequence_member("sequence", *sequence); !problem.empty()) return problem;
  if (const auto if_failed = job.raw("if_failed")) {
    if (std::string problem = problem_of_sequence_member("if_failed", *if_failed); !problem.empty()) return problem;
  }
  const auto jid = job.string("jid");
  return jid && !jid->empty() ? "" : "a job of a sequence needs a jid";
}

}  // namespace brood
