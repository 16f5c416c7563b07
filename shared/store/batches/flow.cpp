#include "shared/store/batches/flow.hpp"

#include <map>

#include "shared/base/contains_text.hpp"
#include "shared/base/plain_number.hpp"
#include "shared/base/planted_bug.hpp"
#include "shared/job/job_report.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/kept_report.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/scan.hpp"

namespace brood {

namespace scripts {
extern const Script add_steps, find_step, release_steps;
}

namespace {

std::string joined(const std::vector<std::uint32_t>& indices) {
  std::string text;
  for (const std::uint32_t index : indices) text += (text.empty() ? "" : ",") + std::to_string(index);
  return text;
}

std::vector<std::uint32_t> split(std::string_view text) {
  std::vector<std::uint32_t> indices;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    if (const auto index = plain_number<std::uint32_t>(text.substr(0, end))) indices.push_back(*index);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return indices;
}

// Each step has two bits; the first of a byte has the highest two.
unsigned state_in(std::string_view bits, std::uint32_t index) {
  if (index / 4 >= bits.size()) return 0;
  return static_cast<unsigned char>(bits[index / 4]) >> (6 - 2 * (index % 4)) & 3U;
}

}  // namespace

std::string report_of_step(const std::string& payload) {
  if (!contains_text(payload, mark_of_report)) return "";
  const Payload job = Payload::parse(payload);
  const auto seconds = keeps_report_for(job.raw("keep_result"));
  const auto jid = job.raw("jid");
  return seconds && jid ? std::to_string(*seconds).append(" ").append(*jid) : "";
}

ScriptCall add_steps(const BatchPush& push, std::uint64_t number, std::uint32_t first,
                     const std::vector<NewStep>& steps) {
  ScriptCall call{&scripts::add_steps,
                  {keys::batch(push.bid), keys::batch_steps(push.bid)},
                  {push.token, std::to_string(number), push.pusher, std::to_string(first)}};
  for (const NewStep& step : steps) {
    const std::size_t less = step.before > 1 && planted(PlantedBug::step_waits_for_one_less) ? 1 : 0;
    call.args.insert(call.args.end(), {step.name, step.kept, std::to_string(step.before - less), joined(step.after),
                                       std::string(step.if_failed), step.report});
  }
  return call;
}

ScriptCall release_steps(std::string_view bid, const std::vector<std::uint32_t>& steps) {
  ScriptCall call{&scripts::release_steps, {keys::batch(bid), keys::batch_steps(bid)}, {}};
  for (const std::uint32_t step : steps) call.args.push_back(std::to_string(step));
  return call;
}

std::string_view to_string(FlowStep::State state) {
  switch (state) {
    case FlowStep::State::waiting:
      return "waiting";
    case FlowStep::State::pending:
      return "pending";
    case FlowStep::State::failing:
      return "failing";
    case FlowStep::State::dead:
      return "dead";
    case FlowStep::State::succeeded:
      return "succeeded";
  }
  return "pending";
}

std::vector<Command> ask_steps(std::string_view bid) {
  return {{"HGETALL", keys::batch_steps(bid)}, {"GET", keys::batch_states(bid)}};
}

std::vector<FlowStep> read_steps(ReplyView steps, ReplyView states) {
  std::map<std::uint32_t, FlowStep> known;
  std::map<std::string_view, std::string_view> fields;
  if (steps.is_error()) return {};
  for (std::size_t i = 0; i + 1 < steps.size(); i += 2) fields[steps[i].text()] = steps[i + 1].text();
  const std::string_view bits = states.is_string() ? states.text() : std::string_view();
  for (const auto& [field, value] : fields) {
    const auto index = field.starts_with("name:") ? plain_number<std::uint32_t>(field.substr(5)) : std::nullopt;
    if (!index || *index >= max_steps) continue;
    FlowStep& step = known[*index];
    step.name = value;
    step.state = static_cast<FlowStep::State>(1 + state_in(bits, *index));
    const bool waits = fields.contains("queued:" + std::to_string(*index));
    if (waits && step.state == FlowStep::State::pending) step.state = FlowStep::State::waiting;
    step.jid = fields["jid:" + std::to_string(*index)];
  }
  for (const auto& [field, value] : fields) {
    const auto index = field.starts_with("after:") ? plain_number<std::uint32_t>(field.substr(6)) : std::nullopt;
    if (!index || !known.contains(*index)) continue;
    for (const std::uint32_t waits : split(value))
      if (known.contains(waits)) known[waits].after.push_back(known[*index].name);
  }
  std::vector<FlowStep> all;
  for (auto& one : known) all.push_back(std::move(one.second));
  return all;
}

std::optional<WaitingStep> find_waiting_step(Channel& redis, std::string_view jid) {
  std::optional<WaitingStep> found;
  const std::string before = keys::batch("").name(), after = keys::batch_steps("").name().substr(before.size());
  for_each_key_while(redis, keys::batch_steps("*"), "hash", [&](const std::string& key) {
    const ScriptCall call{&scripts::find_step, {RedisKey(key)}, {std::string(jid), std::to_string(max_steps)}};
    const Reply reply = redis.run(call);
    if (reply.view().size() != 2) return true;
    found = WaitingStep{key.substr(before.size(), key.size() - before.size() - after.size()),
                        std::string(reply.view()[0].text()),
                        plain_number<std::int64_t>(reply.view()[1].text()).value_or(0)};
    return false;
  });
  return found;
}

Command ask_step_result(std::string_view bid, std::string_view name) {
  return {"HGET", keys::batch_results(bid), name};
}

}  // namespace brood
