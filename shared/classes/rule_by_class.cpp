#include "shared/classes/rule_by_class.hpp"

#include <brood/detail/pushed_job.hpp>
#include <optional>
#include <vector>

#include "shared/json/json.hpp"

namespace brood {
namespace {

bool is_given(const JsonObject& rule, std::string_view member) { return rule.raw(member).value_or("null") != "null"; }

// Empty if they are no object: reading the rule reports that.
JsonObject members_given(const JsonObject& rule) {
  const std::string_view members = rule.raw("members").value_or("{}");
  return JsonObject::parse(members.starts_with('{') ? members : "{}");
}

}  // namespace

bool needs_a_push(std::string_view member) {
  return member == "encrypt" || member == "on_conflict" || member.starts_with("unique_");
}

RuleAsPush rule_as_push(const JsonObject& rule) {
  RuleAsPush one{.push = {}, .said = {.queue = is_given(rule, "queue"), .retry = is_given(rule, "retry")}};
  one.push.job_class = rule.string("class").value_or("");
  one.push.args = rule.raw("args").value_or("[]");
  one.push.queue = rule.string("queue").value_or(one.push.queue);
  const JsonObject members = members_given(rule);
  for (const JsonOutline::Part& part : JsonOutline::of(members.text()).parts)
    one.push.members.emplace_back(part.key, *members.raw(part.key));
  return one;
}

std::string with_class_options(const JsonObject& rule, const RuleAsPush& by_class) {
  std::vector<JsonObject::Edit> options, of_members;
  const JsonObject given = members_given(rule);
  if (!by_class.said.queue) options.push_back({"queue", json_string(by_class.push.queue)});
  if (!by_class.said.retry) options.push_back({"retry", detail::json_text(by_class.push.retry)});
  for (const auto& [name, json] : by_class.push.members) {
    if (!given.raw(name) && !needs_a_push(name)) of_members.push_back({name, json});
  }
  if (!of_members.empty()) options.push_back({"members", given.with(of_members).text()});
  return rule.with(options).text();
}

}  // namespace brood
