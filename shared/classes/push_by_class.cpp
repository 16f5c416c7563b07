#include "shared/classes/push_by_class.hpp"

#include <algorithm>

#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"

namespace brood {
namespace {

std::optional<std::string_view> member_of(const Push& push, std::string_view name) {
  std::optional<std::string_view> last;
  for (const auto& [given, json] : push.members) {
    if (given == name) last = json;
  }
  return last;
}

bool says_unique(const Push& push) {
  return std::ranges::any_of(push.members, [](const auto& member) {
    return member.first.starts_with("unique_") || member.first == "on_conflict";
  });
}

bool is_of_uniqueness(std::string_view member) { return member.starts_with("unique_") || member == "on_conflict"; }

YesNoOrCount retry_of(const std::string& json, YesNoOrCount otherwise) {
  if (json == "true" || json == "false") return json == "true";
  const auto count = json_integer(json);
  return count && *count >= 0 && *count <= 1'000'000 ? YesNoOrCount(*count) : otherwise;
}

// The values of these arguments; the default of one that is left out.
std::string values_at(const std::vector<std::size_t>& places, const PublishedClass& known, std::string_view args) {
  const std::vector<std::string> given = json_elements(args);
  std::string values;
  for (const std::size_t place : places) {
    values += values.empty() ? "[" : ",";
    const bool is_known = place < known.fields.size() && !known.fields[place].usual.empty();
    values += place < given.size() ? given[place] : is_known ? known.fields[place].usual : "null";
  }
  return values.empty() ? "[]" : values + "]";
}

void take_options(Push& push, const SaidByPush& said, const PublishedClass& known) {
  if (!said.queue && !known.queue.empty()) push.queue = known.queue;
  if (!said.retry) push.retry = retry_of(known.retry, push.retry);
  const bool its_own_lock = says_unique(push);
  for (const auto& [name, json] : known.members) {
    if (member_of(push, name) || (its_own_lock && is_of_uniqueness(name))) continue;
    if (name == "expires_in" && member_of(push, "expiry")) continue;
    if (name == "retry_for" && said.retry) continue;
    push.members.emplace_back(name, json);
  }
  if (known.unique_by && !its_own_lock && known.is_unique())
    push.members.emplace_back("unique_by", values_at(*known.unique_by, known, push.args));
}

bool is_truthy(std::optional<std::string_view> json) { return json && *json != "null" && *json != "false"; }

// Whether its last argument is encrypted already, and so cannot be checked.
bool is_sealed(const Push& push) {
  if (!is_truthy(member_of(push, "encrypt"))) return false;
  const std::vector<std::string> args = json_elements(push.args);
  return !args.empty() && args.back().starts_with("\"brood1.");
}

// Refuses a push in clear of a class that encrypts.  A payload that a client has made is pushed as it is, so it must be
// encrypted already.
void must_encrypt(const Push& push, bool was_made) {
  const auto encrypt = member_of(push, "encrypt");
  const bool says_no = encrypt && !is_truthy(encrypt);
  if (was_made ? is_sealed(push) : !says_no) return;
  throw PushRefused(push.job_class + " encrypts its last argument, and this push has it in clear; leave out " +
                    (says_no && was_made ? "\"encrypt\" and \"created_at\""
                     : says_no           ? "\"encrypt\""
                                         : "\"created_at\"") +
                    ", and it is encrypted");
}

}  // namespace

std::string why_no_rule_encrypts(const std::string& job_class) {
  return job_class +
         " encrypts its last argument, and a periodic job has its arguments in clear, so workers refuse it: let the "
         "rule run another class that pushes this one, or set [encryption] require = false";
}

void check_class_of_rule(const PublishedClasses& published, const std::string& job_class) {
  const std::vector<PublishedClasses::Said> said = published.find(job_class);
  if (!said.empty() && said.front().known.encrypts) throw PushRefused(why_no_rule_encrypts(job_class));
}

void make_common(Push& push) {
  std::erase_if(push.members, [](const auto& member) { return is_of_uniqueness(member.first); });
}

SaidByPush SaidByPush::of(std::string_view json) {
  const JsonObject object = JsonObject::parse(json);
  return {object.raw("queue").has_value(), object.raw("retry").has_value()};
}

std::string go_by_class(Push& push, const SaidByPush& said, const PublishedClasses& published,
                        const RubyServes& ruby_serves, bool unchecked) try {
  using Kind = PushVerdict::Kind;
  const bool was_made = member_of(push, "created_at").has_value();
  PushVerdict verdict = judge_push(published, push.job_class, push.args);
  if (verdict.kind == Kind::unpublished) return "";
  if (verdict.kind == Kind::misspelt) {
    if (!unchecked && !(ruby_serves && ruby_serves(push.queue))) throw UnfitPush(verdict.problem);
    return verdict.problem;
  }
  if (verdict.kind == Kind::wrong && !unchecked && !is_sealed(push)) throw UnfitPush(verdict.problem);
  if (!verdict.goes_by) return "";
  const PublishedClass& known = *verdict.goes_by;
  if (known.encrypts && !unchecked) must_encrypt(push, was_made);
  if (!was_made) take_options(push, said, known);
  if (verdict.is_gone)
    return "no worker that runs now has the job class " + push.job_class + "; it goes by what the last ones published";
  return "";
} catch (const BadJson&) {
  return "";  // its preparation reports what is wrong with it
}

}  // namespace brood
