#include "supervisor/report/heartbeat_info_json.hpp"

#include <algorithm>
#include <map>

#include "shared/job/page_text.hpp"
#include "shared/job/payload.hpp"

namespace brood {

namespace {

std::string json_text(std::string_view text) { return json_string(page_word(std::string(text))); }

std::string json_member(std::string_view name, const std::string& value) { return json_string(name) + ":" + value; }

// Joins `elements` with commas between `open` and `close`.
std::string json_list(char open, const std::vector<std::string>& elements, char close) {
  std::string list(1, open);
  for (const std::string& element : elements) {
    if (list.size() > 1) list += ',';
    list += element;
  }
  return list + close;
}

std::string json_weights(const QueueOrder& queues) {
  std::vector<std::string> members;
  const std::map<std::string, int> weights = queues.weights();
  // In the order of the configuration: pages of 8.1 show the queues of a capsule in this order.
  for (const std::string& name : queues.names())
    members.push_back(json_text(name) + ":" + std::to_string(weights.at(name)));
  return json_list('{', members, '}');
}

std::string_view mode_name(QueueOrder::Mode mode) {
  switch (mode) {
    case QueueOrder::Mode::strict:
      return "strict";
    case QueueOrder::Mode::random:
      return "random";
    case QueueOrder::Mode::weighted:
      return "weighted";
  }
  return "strict";
}

std::string json_capsule(const CapsuleSettings& capsule) {
  return json_text(capsule.name) + ":" +
         json_list('{',
                   {json_member("concurrency", std::to_string(capsule.concurrency)),
                    json_member("mode", json_string(mode_name(capsule.queues.mode()))),
                    json_member("weights", json_weights(capsule.queues))},
                   '}');
}

// Every queue of every capsule once, in the order of first mention.
std::vector<std::string> json_queues(const std::vector<CapsuleSettings>& capsules) {
  std::vector<std::string> queues;
  for (const CapsuleSettings& capsule : capsules) {
    for (const std::string& name : capsule.queues.names()) {
      const std::string queue = json_text(name);
      if (std::find(queues.begin(), queues.end(), queue) == queues.end()) queues.push_back(queue);
      for (const std::string& aside : asides_of(capsule.caps, name)) {
        if (std::string text = json_text(aside); std::find(queues.begin(), queues.end(), text) == queues.end())
          queues.push_back(std::move(text));
      }
    }
  }
  return queues;
}

}  // namespace

int ProcessFacts::concurrency() const {
  int sum = 0;
  for (const CapsuleSettings& capsule : capsules) sum += capsule.concurrency;
  return sum;
}

std::string heartbeat_info(const Identity& identity, const ProcessFacts& facts) {
  std::vector<std::string> capsules, weights, labels;
  for (const CapsuleSettings& capsule : facts.capsules) {
    capsules.push_back(json_capsule(capsule));
    weights.push_back(json_weights(capsule.queues));
  }
  for (const std::string& label : facts.labels) labels.push_back(json_text(label));

  return json_list(
      '{',
      {json_member("hostname", json_text(identity.hostname)),
       json_member("started_at", json_time(facts.started_at, TimeUnit::float_seconds)),
       json_member("pid", std::to_string(identity.pid)), json_member("tag", json_text(facts.tag)),
       json_member("concurrency", std::to_string(facts.concurrency())),
       json_member("capsules", json_list('{', capsules, '}')),
       json_member("queues", json_list('[', json_queues(facts.capsules), ']')),
       json_member("weights", json_list('[', weights, ']')), json_member("labels", json_list('[', labels, ']')),
       json_member("identity", json_string(identity.name)), json_member("version", json_text(facts.version)),
       json_member("embedded", "false")},
      '}');
}

std::string thread_id(int slot, std::uint64_t incarnation) {
  constexpr std::uint64_t most_slots = 4096;
  std::uint64_t number = incarnation * most_slots + static_cast<std::uint64_t>(slot) % most_slots;
  std::string digits;
  do {
    digits += "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36];
    number /= 36;
  } while (number > 0);
  return {digits.rbegin(), digits.rend()};
}

}  // namespace brood
