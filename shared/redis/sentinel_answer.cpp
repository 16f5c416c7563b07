#include "shared/redis/sentinel_answer.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <tuple>

namespace brood {
namespace {

constexpr std::size_t most_others = 32;

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::uint16_t> port_in(std::string_view text) {
  const auto number = number_in(text);
  if (!number || *number < 1 || *number > 65'535) return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

// The value of a field in a flat array of names and values; empty: it has none.
std::string_view value_of(ReplyView fields, std::string_view name) {
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    if (fields[i].is_string() && fields[i].text() == name && fields[i + 1].is_string()) return fields[i + 1].text();
  }
  return "";
}

bool has_flag(std::string_view flags, std::string_view wanted) {
  while (!flags.empty()) {
    const std::string_view flag = flags.substr(0, flags.find(','));
    if (flag == wanted) return true;
    flags.remove_prefix(std::min(flag.size() + 1, flags.size()));
  }
  return false;
}

std::vector<RedisSeed> sentinels_in(ReplyView list) {
  std::vector<RedisSeed> found;
  for (std::size_t i = 0; list.is_array() && i < std::min(list.size(), most_others); ++i) {
    if (!list[i].is_array()) continue;
    const std::string_view host = value_of(list[i], "ip");
    const auto port = port_in(value_of(list[i], "port"));
    if (!host.empty() && port) found.push_back({std::string(host), *port});
  }
  return found;
}

// Keeps the first answer of each sentinel: one that is asked at several addresses answers several times.  An answer
// with the same run id that names another master counts as that of another sentinel.
std::vector<SentinelAnswer> one_of_each(const std::vector<SentinelAnswer>& answers) {
  std::vector<SentinelAnswer> each;
  for (const SentinelAnswer& answer : answers) {
    const auto same = std::find_if(each.begin(), each.end(), [&](const SentinelAnswer& other) {
      return !answer.run_id.empty() && other.run_id == answer.run_id && other.master == answer.master;
    });
    if (same == each.end())
      each.push_back(answer);
    else
      same->is_seed |= answer.is_seed;
  }
  return each;
}

std::size_t seeds_in(const std::vector<SentinelAnswer>& answers) {
  return static_cast<std::size_t>(
      std::count_if(answers.begin(), answers.end(), [](const SentinelAnswer& answer) { return answer.is_seed; }));
}

bool is_most(int votes, std::size_t of) { return 2 * static_cast<std::size_t>(votes) > of; }

}  // namespace

std::vector<Command> ask_sentinel(const std::string& master) {
  return {{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master},
          {"SENTINEL", "MASTER", master},
          {"SENTINEL", "SENTINELS", master},
          {"SENTINEL", "MYID"}};
}

SentinelReply read_sentinel(const std::string& master, const std::vector<Reply>& replies) {
  const ReplyView address = replies.at(0).view(), details = replies.at(1).view(), id = replies.at(3).view();
  if (const std::string_view error = address.error(); !error.empty()) {
    if (error.find("unknown command") != error.npos) return {std::nullopt, "it is no sentinel"};
    return {std::nullopt, std::string(error)};
  }
  if (address.is_nil()) return {std::nullopt, "it knows no master by the name " + master};
  if (!address.is_array() || address.size() < 2 || !address[0].is_string() || !address[1].is_string() ||
      address[0].text().empty() || !port_in(address[1].text()))
    return {std::nullopt, "it does not answer as a sentinel does"};

  SentinelAnswer answer;
  answer.master = {std::string(address[0].text()), *port_in(address[1].text())};
  if (id.is_string()) answer.run_id = id.text();
  if (details.is_array()) {
    answer.config_epoch = number_in(value_of(details, "config-epoch")).value_or(-1);
    const std::string_view flags = value_of(details, "flags");
    // During a failover the address is already that of the new master, but these flags are the old one's.
    const bool of_this_one = value_of(details, "ip") == answer.master.host &&
                             value_of(details, "port") == std::to_string(answer.master.port);
    answer.is_down = of_this_one && (has_flag(flags, "s_down") || has_flag(flags, "o_down"));
  }
  answer.others = sentinels_in(replies.at(2).view());
  return {std::move(answer), ""};
}

std::vector<NamedMaster> rank_masters(const std::vector<SentinelAnswer>& answers, std::size_t seeds) {
  const std::vector<SentinelAnswer> each = one_of_each(answers);
  const std::size_t answering_seeds = seeds_in(each);
  const bool seeds_decide = seeds > 1 && 2 * seeds_in(answers) > seeds;
  std::vector<NamedMaster> named;
  for (const SentinelAnswer& answer : each) {
    auto one = std::find_if(named.begin(), named.end(), [&](const NamedMaster& m) { return m.at == answer.master; });
    if (one == named.end()) one = named.insert(named.end(), NamedMaster{.at = answer.master});
    one->config_epoch = std::max(one->config_epoch, answer.config_epoch);
    if (answer.is_down) continue;
    one->is_down = false;
    ++one->votes;
    if (answer.is_seed) ++one->votes_of_seeds;
  }
  const auto worth = [&](const NamedMaster& one) {
    const bool outvotes = seeds_decide ? is_most(one.votes_of_seeds, answering_seeds) : is_most(one.votes, each.size());
    return std::tuple(!one.is_down, outvotes, one.config_epoch, one.votes);
  };
  std::stable_sort(named.begin(), named.end(),
                   [&](const NamedMaster& a, const NamedMaster& b) { return worth(a) > worth(b); });
  return named;
}

bool is_settled(const std::vector<SentinelAnswer>& answers, std::size_t asked, std::size_t seeds) {
  const std::vector<NamedMaster> named = rank_masters(answers, seeds);
  if (named.empty()) return false;
  std::size_t there_are = asked;
  for (const SentinelAnswer& answer : answers) {
    if (answer.master == named.front().at) there_are = std::max(there_are, answer.others.size() + 1);
  }
  if (!is_most(named.front().votes, there_are)) return false;
  return seeds_in(answers) >= seeds || is_most(named.front().votes_of_seeds, seeds);
}

}  // namespace brood
