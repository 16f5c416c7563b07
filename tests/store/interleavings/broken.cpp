#include "tests/store/interleavings/broken.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/store/holdings.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/script.hpp"
#include "tests/store/interleavings/payloads.hpp"

namespace brood {

namespace scripts {
extern const Script take_running_lock, return_set_aside;
}

namespace interleavings {
namespace {

bool is(const Command& command, const Script& script) {
  return command.args[1] == script.sha || command.args[1] == script.text;
}

void put(Command& command, std::string text) {
  command.args[0] = "EVAL";
  command.args[1] = std::move(text);
}

std::string& argument(Command& command, std::size_t number) {
  return command.args[3 + std::stoul(command.args[2]) + number];
}

// Makes a settle release what jobs hold that will be tried again.
void let_go_of_failures(Command& command) {
  std::vector<LetGo> let_go;
  for (std::size_t i = 0; i + 1 < command.args.size(); ++i) {
    if (command.args[i] == "retry") append_held(let_go, command.args[i + 1], 0, JobEnding::gone);
  }
  if (let_go.empty()) return;
  ScriptCall call{&scripts::settle_and_fetch, {}, {}};
  const std::size_t keys = std::stoul(command.args[2]);
  for (std::size_t i = 0; i < keys; ++i) call.keys.emplace_back(command.args[3 + i]);
  call.args.assign(command.args.begin() + 3 + static_cast<std::ptrdiff_t>(keys), command.args.end());
  const bool has_caps = std::exchange(call.args.back(), "") != "0";
  call.args.pop_back();
  if (has_caps || call.args.back() != "0") return;
  call.args.pop_back();
  append(call, let_go);
  call.args.emplace_back("0");  // no caps
  command = call.command();
}

// Keeps the caps of the requested queues, but leaves out the queues beside them.
void forget_what_is_beside(Command& command) {
  const std::size_t keys = std::stoul(command.args[2]);
  std::size_t at = command.args.size() - 1;  // index of the count of caps, then of each cap's arguments
  const std::size_t caps = std::stoul(command.args[at]);
  for (std::size_t i = 1; i <= caps; ++i) {
    at -= 2;
    std::size_t places = std::stoul(command.args[at]);
    at -= places;
    if (command.args[3 + keys - i] != keys::cap("q").name()) continue;
    const auto first = command.args.begin() + static_cast<std::ptrdiff_t>(at);
    const auto stays =
        std::remove_if(first, first + static_cast<std::ptrdiff_t>(places), [&](const std::string& place) {
          return command.args[3 + 2 * std::stoul(place) + 1].find('@') != std::string::npos;
        });
    const auto end = first + static_cast<std::ptrdiff_t>(places);
    *end = std::to_string(stays - first);
    command.args.erase(stays, end);
  }
}

constexpr std::string_view is_a_place = R"(if redis.call("TYPE", list).ok == "list" then)";

void break_caps(const Broken& broken, Command& command) {
  const std::string_view text = scripts::settle_and_fetch.text;
  const auto before_all = [&](std::string_view more) {
    constexpr std::string_view first = R"(local held = redis.pcall("HGET", KEYS[1], ARGV[1]))";
    return replaced(text, first, std::string(more).append(first));
  };
  if (broken.places_unchecked) put(command, replaced(text, "cap.free = cap.most - held", "cap.free = 1"));
  if (broken.places_unnoted)
    put(command, replaced(text, R"(type(redis.pcall("SADD", cap.key, list)) == "table")", "false"));
  if (broken.unnoted_places_taken)
    put(command, replaced(text, R"(== "table" then return false end
  redis.pcall("EXPIRE")",
                          R"(== "nothing" then return false end
  redis.pcall("EXPIRE")"));
  if (broken.places_kept_at_settle) put(command, replaced(text, is_a_place, "if true then"));
  if (broken.places_kept_at_recovery)
    put(command, replaced(replaced(text, is_a_place, "if true then"), "local fetched\n",
                          R"(local fetched
if left == 0 and outcomes > 0 then
  for _, cap in ipairs({"k", "q"}) do redis.call("SREM", "brood:cap:" .. cap, held_list) end
end
)"));
  if (broken.places_freed_by_anybody)
    put(command,
        before_all(R"(if KEYS[2]:find("@k", 1, true) and tonumber(ARGV[6]) + math.max((#ARGV - 8) / 3, 0) > 0 then
  local lists = redis.call("SMEMBERS", "brood:cap:k")
  table.sort(lists)
  if lists[1] then redis.call("SREM", "brood:cap:k", lists[1]) end
end
)"));
  if (broken.set_aside_apart)
    put(command, replaced(text, R"(try("LPUSH", beside .. aside.name, unpack(aside.payloads)))", ""));
  if (broken.caps_end_beside_queues) forget_what_is_beside(command);
}

void break_settle(const Broken& broken, Command& command, bool last_was_lost) {
  const std::string_view text = scripts::settle_and_fetch.text;
  break_caps(broken, command);
  if (broken.refusals_ignored)
    put(command, replaced(text, R"(if type(reply) == "table" and reply.err then refusal = reply end)", ""));
  if (broken.locks_kept_at_settle) put(command, replaced(text, "if let_go then let_go(0) end\n", ""));
  if (broken.locks_let_go_by_anybody)
    put(command, replaced(text, R"(redis.call("GET", one.key) == one.member)", "true"));
  if (broken.locks_let_go_by_failures) let_go_of_failures(command);
  if (broken.waits_unannounced) argument(command, 4).clear();
  if (broken.numbers_unchecked)
    put(command, replaced(replaced(text, "(number ~= expected and number ~= expected + 1)", "false"),
                          R"(if number == expected + 1 then return answer("AGAIN") end)", ""));
  if (broken.resends_renumbered && last_was_lost) {
    std::string& number = argument(command, 1);
    number = std::to_string(std::stoull(number) + 1);
  }
}

void break_recovery(const Broken& broken, Command& command) {
  const std::string_view text = scripts::recover.text;
  if (broken.places_kept_at_settle)
    put(command, replaced(text, R"(redis.call("HDEL", KEYS[1], ARGV[1]))", R"(redis.call("HDEL", KEYS[1], ARGV[1])
for _, cap in ipairs({"k", "q"}) do redis.call("SREM", "brood:cap:" .. cap, KEYS[6]) end
)"));
  if (broken.recovery_unchecked) put(command, replaced(text, "if number ~= expected then verdicts = {} end", ""));
  if (broken.tombstones_omitted) put(command, replaced(text, R"(redis.call("SET", KEYS[6], "dead", "EX", 3600))", ""));
  if (broken.adoptions_unchecked) put(command, replaced(text, R"(redis.call("EXISTS", KEYS[8]) == 1)", "false"));
  if (broken.locks_kept_at_recovery)
    put(command, replaced(text, "for _, number in ipairs(applied) do let_go(number) end", ""));
  if (broken.holdings_unheeded) put(command, replaced(text, "  let_go(0)\n", ""));
  if (broken.late_takes_unseen)
    put(command, replaced(text, R"(if (holds or nil) ~= noted then return {"HOLDS", holds or ""} end)", ""));
}

void break_settle_without_field(const Broken& broken, Command& command) {
  const std::string_view text = scripts::settle_without_field.text;
  if (broken.kept_without_field) put(command, replaced(text, "if let_go then let_go(0) end\n", ""));
  if (broken.tombstones_omitted) put(command, replaced(text, R"(redis.call("SET", KEYS[2], "dead", "EX", 3600))", ""));
  if (broken.lost_fields_abandoned) put(command, "return {0, 0}");
  if (broken.asides_end_without_field)
    put(command, replaced(text, "if payload == \"\" then payload = entry end", R"(if payload == "" then
    if kind == "requeue_head" then kind = "acknowledge" end
    payload = entry
  end
)"));
  if (broken.lost_entries_unchecked)
    put(command,
        replaced(text, "if not entry or not is_marked(entry, ARGV[i]) then break end", "if not entry then break end"));
}

void break_return(const Broken& broken, Command& command) {
  const std::string_view text = scripts::return_set_aside.text;
  if (broken.asides_forgotten) put(command, replaced(text, " and not may_come_back()", ""));
  if (broken.asides_returned_backwards) put(command, replaced(text, R"("RPUSH", KEYS[2])", R"("LPUSH", KEYS[2])"));
}

}  // namespace

bool settles_without_field(const Command& command) {
  return (command.args[0] == "EVALSHA" || command.args[0] == "EVAL") && is(command, scripts::settle_without_field);
}

void without_rules(const Broken& broken, Command& command, bool last_was_lost) {
  if (command.args[0] != "EVALSHA" && command.args[0] != "EVAL") return;
  if (is(command, scripts::settle_and_fetch)) break_settle(broken, command, last_was_lost);
  if (is(command, scripts::recover)) break_recovery(broken, command);
  if (is(command, scripts::settle_without_field)) break_settle_without_field(broken, command);
  if (is(command, scripts::return_set_aside)) break_return(broken, command);
  if (broken.takes_unfenced && is(command, scripts::take_running_lock))
    put(command,
        replaced(scripts::take_running_lock.text, R"(if not is_senders(ARGV[2]) then return "FENCED" end)", ""));
}

}  // namespace interleavings

}  // namespace brood
