#include "shared/store/limits/take_limits.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/keys.hpp"

namespace brood {

namespace scripts {
extern const Script take_limits, give_back_limits, forget_holder;
}

namespace {

constexpr unsigned takings = 1024;  // a power of two: a score is exact, and short
constexpr double largest_score = 9007199254740992.0 / takings;

}  // namespace

std::optional<LimitHolder> read_limit_holder(std::string_view member, std::string_view score) {
  LimitHolder holder;
  const std::size_t first = member.find('/'), second = member.find('/', first + 1);
  if (first == member.npos) return std::nullopt;
  holder.identity = member.substr(0, first);
  holder.field = member.substr(first + 1, second - first - 1);
  if (second != member.npos) holder.elsewhere = member.substr(second + 1);
  double number = 0;  // Redis writes it with or without an exponent
  const auto [rest, error] = std::from_chars(score.data(), score.data() + score.size(), number);
  if (error != std::errc{} || rest != score.data() + score.size() || !(number >= 0 && number < largest_score))
    return std::nullopt;
  holder.number = static_cast<decltype(holder.number)>(number);
  holder.taking = static_cast<unsigned>(std::lround((number - std::floor(number)) * takings));
  return holder;
}

std::string LimitHolder::member() const { return identity + "/" + field + (elsewhere.empty() ? "" : "/" + elsewhere); }

std::string LimitHolder::score() const {
  const unsigned fraction = taking % takings;
  if (fraction == 0) return std::to_string(number);
  return fmt::format("{:.17g}", static_cast<double>(number) + static_cast<double>(fraction) / takings);
}

ScriptCall take_limits(const LimitHolder& holder, const std::vector<Limit>& limits, std::chrono::milliseconds may_wait,
                       std::chrono::milliseconds has_waited) {
  ScriptCall call{
      &scripts::take_limits,
      {keys::brood_limits},
      {holder.member(), holder.score(), std::to_string(may_wait.count()), std::to_string(has_waited.count())}};
  for (const Limit& limit : limits) {
    for (RedisKey key : {keys::limit(limit.name), keys::limit_used(limit.name), keys::limit_waited_for(limit.name)})
      call.keys.push_back(std::move(key));
    for (std::string arg : {limit.name, std::string(to_string(limit.kind)), std::to_string(limit.amount),
                            std::to_string(limit.interval.count()), std::to_string(limit.wanted),
                            std::to_string(limit.known_for.count()), std::to_string(limit.defined_ago.count())})
      call.args.push_back(std::move(arg));
  }
  return call;
}

LimitAnswer read_limit_answer(ReplyView reply) {
  LimitAnswer answer;
  const std::string_view word = reply[0].text();
  if (word == "TAKEN") return answer;
  if (word != "OVER" && word != "WAIT") throw UnexpectedReply("the script of limits answered " + std::string(word));
  answer.kind = word == "OVER" ? LimitAnswer::Kind::over : LimitAnswer::Kind::wait;
  answer.which = static_cast<std::size_t>(reply[1].integer()) - 1;
  answer.until_then = std::chrono::milliseconds(reply[2].integer());
  for (std::size_t i = 3; i + 1 < reply.size(); i += 2) {
    std::optional<LimitHolder> holder = read_limit_holder(reply[i].text(), reply[i + 1].text());
    if (!holder) throw UnexpectedReply("a limit names no holder");
    answer.elsewhere.push_back(std::move(*holder));
  }
  return answer;
}

Command wait_for_slot(const std::string& limit_name, std::chrono::milliseconds longest) {
  return {"BLPOP", keys::limit_bell(limit_name), fmt::format("{:.3f}", static_cast<double>(longest.count()) / 1000)};
}

Command ask_holder(const LimitHolder& holder) { return {"HGET", keys::in_flight_hash(holder.identity), holder.field}; }

bool read_still_holds(const LimitHolder& holder, ReplyView reply) {
  if (reply.is_nil()) return false;
  if (!reply.is_string()) return true;  // refused: not known to be free
  const std::optional<LastSettle> last = parse_last_settle(reply.text());
  return last && last->number == holder.number;
}

Command ask_whether_owner_beats(const LimitHolder& holder) { return {"EXISTS", keys::heartbeat(holder.identity)}; }

ScriptCall forget_holders(const std::string& limit_name, const std::vector<LimitHolder>& gone) {
  ScriptCall call{&scripts::forget_holder, {keys::limit_used(limit_name)}, {}};
  for (const LimitHolder& holder : gone) {
    call.args.push_back(holder.member());
    call.args.push_back(holder.score());
  }
  return call;
}

ScriptCall give_back_limits(const LimitHolder& holder, const std::vector<LimitUse>& uses) {
  ScriptCall call{&scripts::give_back_limits, {}, {holder.member(), holder.score()}};
  for (const LimitUse& use : uses) {
    for (RedisKey key : {keys::limit_used(use.name), keys::limit_waited_for(use.name), keys::limit_bell(use.name)})
      call.keys.push_back(std::move(key));
    call.args.emplace_back(to_string(use.kind));
    call.args.push_back(std::to_string(use.difference));
  }
  return call;
}

Command ask_limit_kind(const std::string& limit_name) { return {"HGET", keys::limit(limit_name), "kind"}; }

bool read_has_slots(ReplyView reply) { return reply.is_string() && limit_kind(reply.text()) == LimitKind::concurrent; }

Command ask_slots(const std::string& limit_name) {
  return {"ZRANGE", keys::limit_used(limit_name), "0", "-1", "WITHSCORES"};
}

std::vector<LimitHolder> read_slots(ReplyView reply) {
  std::vector<LimitHolder> holders;
  for (std::size_t i = 0; reply.is_array() && i + 1 < reply.size(); i += 2) {
    if (std::optional<LimitHolder> holder = read_limit_holder(reply[i].text(), reply[i + 1].text()))
      holders.push_back(std::move(*holder));
  }
  return holders;
}

Witness witness_of(const LimitHolder& holder, std::string_view own_identity, const std::set<std::string>& shards) {
  if (holder.elsewhere.empty()) return Witness::its_field;
  if (shards.contains(holder.elsewhere)) return Witness::its_shard;
  return holder.identity == own_identity ? Witness::ourselves : Witness::its_supervisor;
}

}  // namespace brood
