#include "shared/redis/find_server.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/redis/connection.hpp"
#include "shared/redis/find_slot_owner.hpp"
#include "shared/redis/greeting.hpp"
#include "shared/redis/sentinel_answer.hpp"
#include "shared/redis/socket.hpp"
#include "shared/redis/stream.hpp"
#include "shared/redis/tls_session.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::size_t most_asked = 32;
constexpr std::size_t most_followed = 4;        // from a replica to its master
constexpr auto until_others_are_asked = 100ms;  // those that a sentinel named, once some of the address have answered
constexpr auto until_known_ones_are_asked = 300ms;
constexpr auto time_for_the_rest = 500ms;  // when one has answered
constexpr auto time_for_one_said_to_be_down = 300ms;
constexpr auto time_after_a_name_server = 300ms;  // left at least, since the name server may have used up all time
constexpr std::size_t most_bytes_of_a_sentinel = 1 << 20;
constexpr int most_reads_of_a_turn = 16;  // then the other sentinels get their turn

std::string text_of(const RedisSeed& seed) {
  return seed.host.find(':') == std::string::npos ? fmt::format("{}:{}", seed.host, seed.port)
                                                  : fmt::format("[{}]:{}", seed.host, seed.port);
}

// The results of earlier searches by this process, or by the one that forked it.
struct Known {
  std::vector<Teller> sentinels;
  std::optional<RedisSeed> master;
};
struct Memory {
  std::mutex mutex;
  std::map<std::string, Known> known;
};
Memory& memory() {
  static Memory memory;
  return memory;
}

// Only tries the lock: a child may have been forked while another thread of its parent held it, and this knowledge is
// optional.
Known recall(const RedisAddress& address) {
  const std::unique_lock lock(memory().mutex, std::try_to_lock);
  if (!lock) return {};
  const auto found = memory().known.find(address.without_password());
  return found == memory().known.end() ? Known{} : found->second;
}

void remember(const RedisAddress& address, const FoundServer& found) {
  const std::unique_lock lock(memory().mutex, std::try_to_lock);
  if (!lock) return;
  Known& known = memory().known[address.without_password()];
  known.master = RedisSeed{found.server.host, found.server.port};
  if (!found.tellers.empty()) known.sentinels = found.tellers;
}

bool same_place(const Endpoint& a, const Endpoint& b) {
  return a.length == b.length && std::memcmp(&a.address, &b.address, a.length) == 0;
}

RedisAddress as_server(const RedisAddress& address, const RedisSeed& at) {
  RedisAddress server = address;
  server.host = at.host;
  server.port = at.port;
  server.seeds.clear();
  server.master.clear();
  return server;
}

// One sentinel that is asked, on a connection of its own.
class Question {
 public:
  Question(const RedisAddress& sentinel, const std::string& master, const Endpoint& endpoint, bool is_seed)
      : master_(master),
        endpoint_(endpoint),
        at_{numeric_host(endpoint), sentinel.port},
        seed_{sentinel.host, sentinel.port},
        is_seed_(is_seed) {
    guarded([&] {
      UniqueFd socket = begin_connect(endpoint);
      if (!socket) throw ConnectionLost("too many clients wait for the socket");
      stream_ =
          std::make_unique<Stream>(std::move(socket), sentinel.tls ? std::make_unique<TlsSession>(sentinel) : nullptr);
      stream_->set_longest_reply(most_bytes_of_a_sentinel);
      greeting_ = greeting(sentinel, "");
      for (const Command& command : greeting_) append_greeting(*stream_, command, sentinel);
      const std::vector<Command> questions = ask_sentinel(master);
      for (const Command& command : questions) stream_->append(command);
      expected_ = greeting_.size() + questions.size();
    });
  }

  bool is_under_way() const { return stream_ != nullptr; }
  pollfd awaited() const {
    const bool to_write = !connected_ || stream_->unsent() > 0;
    return {stream_->fd(), static_cast<short>(POLLIN | (to_write ? POLLOUT : 0)), 0};
  }
  void go_on() {
    guarded([&] {
      if (!connected_) {
        check_connected(stream_->fd());
        connected_ = true;
      }
      stream_->write_some();
      for (int reads = 0; reads < most_reads_of_a_turn && stream_->read_some(); ++reads) {
        while (Reply reply = stream_->next_reply()) take(std::move(reply));
        if (replies_.size() == expected_) return conclude();
      }
    });
  }

  const Endpoint& endpoint() const { return endpoint_; }
  bool is_seed() const { return is_seed_; }
  const RedisSeed& at() const { return at_; }
  Teller found() const { return {seed_, at_.host}; }
  const std::optional<SentinelAnswer>& answer() const { return answer_; }
  // Why there is no answer, and whether the sentinel itself refused.
  const std::string& failure() const { return failure_; }
  bool refused() const { return refused_; }

 private:
  template <typename Act>
  void guarded(const Act& act) {
    try {
      act();
    } catch (const ConnectionLost& lost) {
      fail(lost.what(), lost.why == Loss::login_refused);
    } catch (const std::runtime_error& error) {
      fail(error.what(), false);
    }
  }

  void fail(const std::string& why, bool refused) {
    failure_ = text_of(at_) + ": " + why;
    refused_ = refused;
    stream_.reset();
  }

  void take(Reply reply) {
    if (replies_.size() < greeting_.size()) {
      if (const auto why = refusal(greeting_[replies_.size()], reply)) throw_refusal(*why);
    }
    replies_.push_back(std::move(reply));
    if (replies_.size() > expected_) throw ConnectionLost("it answered what nobody asked");
  }

  void conclude() {
    replies_.erase(replies_.begin(), replies_.begin() + static_cast<std::ptrdiff_t>(greeting_.size()));
    SentinelReply read = read_sentinel(master_, replies_);
    if (!read.answer) throw ConnectionLost(Loss::login_refused, read.refusal);
    answer_ = std::move(read.answer);
    answer_->is_seed = is_seed_;
    stream_.reset();
  }

  std::string master_;
  Endpoint endpoint_;
  RedisSeed at_, seed_;  // by number, and by name
  bool is_seed_;         // the URL names it
  std::unique_ptr<Stream> stream_;
  bool connected_ = false, refused_ = false;
  std::vector<Command> greeting_;
  std::size_t expected_ = 0;
  std::vector<Reply> replies_;
  std::optional<SentinelAnswer> answer_;
  std::string failure_;
};

// All sentinels that are asked.
class Inquiry {
 public:
  // Asks no name server after `deadline`.
  Inquiry(const RedisAddress& address, std::vector<Teller> known, SteadyTime deadline)
      : address_(address), known_(std::move(known)), begun_(steady_now()) {
    // Those that need no name server first.
    for (const bool by_name : {false, true}) {
      for (const RedisSeed& seed : address.seeds) {
        if (sentinel_address(address, {seed, ""}).needs_resolving() == by_name) ask({seed, ""}, deadline, true);
      }
    }
  }

  // Waits until most sentinels agree, or until `deadline`, or a little longer if name servers have used up the time.
  void wait(SteadyTime deadline) {
    const SteadyTime half = begun_ + (deadline - begun_) / 2;
    for (;;) {
      const SteadyTime now = steady_now();
      const std::vector<SentinelAnswer> said = answers();
      if (is_settled(said, still_asked(), seeds_still_asked())) return;
      if (!said.empty() && !first_answer_) first_answer_ = now;
      if (!asked_others_ && now >= others_are_due()) {
        asked_others_ = true;
        for (const SentinelAnswer& answer : said)
          for (const RedisSeed& other : answer.others) known_.push_back({other, ""});
        for (const Teller& other : known_) ask(other, half, false);
        continue;
      }
      SteadyTime until = deadline;
      if (first_answer_) until = std::min<SteadyTime>(until, *first_answer_ + time_for_the_rest);
      until = std::max(until, at_least_until_);
      if (now >= until || !is_under_way()) return;
      poll_once(asked_others_ ? until : std::min(until, others_are_due()));
    }
  }

  std::vector<SentinelAnswer> answers() const {
    std::vector<SentinelAnswer> said;
    for (const Question& question : questions_) {
      if (question.answer()) said.push_back(*question.answer());
    }
    return said;
  }

  // How many sentinels the URL names.  A name with several numeric addresses counts as often as one of them has
  // answered.
  std::size_t seeds() const {
    std::ptrdiff_t count = 0;
    for (const RedisSeed& seed : address_.seeds) {
      const auto answered = std::count_if(questions_.begin(), questions_.end(), [&](const Question& one) {
        return one.is_seed() && one.answer() && one.found().seed == seed;
      });
      count += std::max<std::ptrdiff_t>(1, answered);
    }
    return static_cast<std::size_t>(count);
  }

  std::vector<Teller> who_answered() const {
    std::vector<Teller> found;
    for (const Question& question : questions_) {
      if (question.answer()) found.push_back(question.found());
    }
    return found;
  }

  // Throws the reason why no sentinel has answered.
  [[noreturn]] void throw_why_none() const {
    for (const Question& question : questions_) {
      if (question.refused()) throw ConnectionLost(Loss::login_refused, "the sentinel " + question.failure());
    }
    if (questions_.empty() && !unknown_.empty()) throw ConnectionLost(Loss::host_unknown, unknown_);
    std::string why = unknown_;
    for (const Question& question : questions_) {
      if (!why.empty()) why += "; ";
      why +=
          question.failure().empty() ? text_of(question.at()) + ": no answer within the deadline" : question.failure();
    }
    throw ConnectionLost("no sentinel answers: " + why);
  }

 private:
  void ask(const Teller& whom, SteadyTime resolves_until, bool is_seed) {
    const RedisAddress sentinel = sentinel_address(address_, whom);
    if (questions_.size() >= most_asked) return;
    const bool by_name = sentinel.needs_resolving();
    if (by_name && steady_now() >= resolves_until) return not_found("no time to look up " + sentinel.host);
    try {
      const std::vector<Endpoint> endpoints = endpoints_of(sentinel, Lookup::blocking);
      if (by_name) at_least_until_ = steady_now() + time_after_a_name_server;
      for (const Endpoint& endpoint : endpoints) {
        const bool is_asked = std::any_of(questions_.begin(), questions_.end(), [&](const Question& question) {
          return same_place(question.endpoint(), endpoint);
        });
        if (is_asked || questions_.size() >= most_asked) continue;
        questions_.emplace_back(sentinel, address_.master, endpoint, is_seed);
      }
    } catch (const ConnectionLost& lost) {
      if (lost.why == Loss::host_unknown) not_found(lost.what());
    } catch (const std::runtime_error&) {  // no address that one could connect to
    }
  }

  void not_found(const std::string& why) { unknown_ += (unknown_.empty() ? "" : "; ") + why; }

  // How many have answered, or may yet.
  std::size_t still_asked() const {
    return still_asked([](const Question&) { return true; });
  }
  std::size_t seeds_still_asked() const {
    return still_asked([](const Question& one) { return one.is_seed(); });
  }
  template <typename Counts>
  std::size_t still_asked(Counts counts) const {
    return static_cast<std::size_t>(std::count_if(questions_.begin(), questions_.end(), [&](const Question& one) {
      return counts(one) && (one.is_under_way() || one.answer());
    }));
  }

  bool is_under_way() const {
    return std::any_of(questions_.begin(), questions_.end(), [](const Question& one) { return one.is_under_way(); });
  }

  SteadyTime others_are_due() const {
    if (!is_under_way()) return begun_;
    return first_answer_ ? *first_answer_ + until_others_are_asked : begun_ + until_known_ones_are_asked;
  }

  void poll_once(SteadyTime until) {
    std::vector<pollfd> watched;
    std::vector<Question*> whose;
    for (Question& question : questions_) {
      if (!question.is_under_way()) continue;
      watched.push_back(question.awaited());
      whose.push_back(&question);
    }
    const auto left = std::chrono::ceil<milliseconds>(until - steady_now());
    const int ready =
        poll(watched.data(), watched.size(), static_cast<int>(std::clamp<milliseconds::rep>(left.count(), 0, 60'000)));
    if (ready < 0 && errno == EINTR) return;
    check("poll", ready);
    for (std::size_t i = 0; i < watched.size(); ++i) {
      if (watched[i].revents != 0) whose[i]->go_on();
    }
  }

  const RedisAddress& address_;
  std::vector<Teller> known_;
  const SteadyTime begun_;
  std::vector<Question> questions_;
  std::optional<SteadyTime> first_answer_;
  SteadyTime at_least_until_{};
  bool asked_others_ = false;
  std::string unknown_;  // hosts whose names cannot be resolved
};

// A replica, which follows another server.
class IsReplica : public ConnectionLost {
 public:
  IsReplica(const RedisAddress& server, RedisSeed master)
      : ConnectionLost(server.without_password() + " is a replica"), master(std::move(master)) {}
  const RedisSeed master;
};

RedisSeed master_in(ReplyView role) {
  if (role.size() < 3 || !role[1].is_string() || !role[2].is_integer()) return {};
  const std::int64_t port = role[2].integer();
  if (port < 1 || port > 65'535) return {};
  return {std::string(role[1].text()), static_cast<std::uint16_t>(port)};
}

// Throws ConnectionLost, or a class derived from it, unless this is a master.
void prove_master(const RedisAddress& server, SteadyTime deadline) {
  const auto left = std::max(milliseconds(1), std::chrono::ceil<milliseconds>(deadline - steady_now()));
  Connection connection(server, {.connect = left, .command = left, .is_final = true}, "");
  const Reply reply = connection.call({"ROLE"});
  const ReplyView role = reply.view();
  if (role.is_array() && role.size() > 0 && role[0].is_string()) {
    if (role[0].text() == "master") return;
    if (role[0].text() == "slave") throw IsReplica(server, master_in(role));
    throw ConnectionLost(server.without_password() + " is a " + std::string(role[0].text()));
  }
  if (classify_error(role.error()) != ErrorKind::unauthorized)
    throw ConnectionLost(server.without_password() + ": " + std::string(role.error()));
  // A user with few rights may not run ROLE, but must be able to run INFO anyway.
  const Reply info = connection.call({"INFO", "replication"});
  if (!info.view().is_string() || info.view().text().find("role:slave") != std::string_view::npos)
    throw ConnectionLost(server.without_password() + " is a replica, or does not say");
}

// The address of the server `at`, with the numeric address at which it proves to be the master.
RedisAddress prove_any(const RedisAddress& address, const RedisSeed& at, SteadyTime deadline) {
  const RedisAddress server = as_server(address, at);
  const std::vector<Endpoint> endpoints = endpoints_of(server, Lookup::blocking);
  if (server.needs_resolving()) deadline = std::max<SteadyTime>(deadline, steady_now() + time_after_a_name_server);
  for (std::size_t i = 0;; ++i) {
    RedisAddress one = server;
    one.numeric_hosts = {numeric_host(endpoints[i])};
    try {
      const auto share = (deadline - steady_now()) / static_cast<int>(endpoints.size() - i);
      prove_master(one, steady_now() + share);
      return one;
    } catch (const ConnectionLost&) {
      if (i + 1 == endpoints.size()) throw;
    }
  }
}

}  // namespace

RedisSeed place_of(const RedisAddress& server) {
  return {server.numeric_hosts.empty() ? server.host : server.numeric_hosts.front(), server.port};
}

RedisAddress sentinel_address(const RedisAddress& address, const Teller& found) {
  RedisAddress sentinel = address;
  sentinel.host = found.seed.host;
  sentinel.port = found.seed.port;
  if (!found.number.empty()) sentinel.numeric_hosts = {found.number};
  sentinel.user = address.sentinel_user;
  sentinel.password = address.sentinel_password;
  sentinel.password_file = address.sentinel_password_file;
  sentinel.db = 0;
  sentinel.seeds.clear();
  sentinel.master.clear();
  return sentinel;
}

FoundServer find_server(const RedisAddress& address, SteadyTime deadline) {
  if (!address.must_be_found()) return {address, {}};
  if (address.in_cluster) {
    FoundServer found{find_slot_owner(address, deadline), {}};
    for (const RedisSeed& node : known_nodes(address)) found.tellers.push_back({.seed = node, .number = {}});
    return found;
  }
  const Known known = recall(address);
  const SteadyTime begun = steady_now(), half = begun + (deadline - begun) / 2;
  Inquiry inquiry(address, known.sentinels, half);
  inquiry.wait(half);

  std::vector<NamedMaster> named = rank_masters(inquiry.answers(), inquiry.seeds());
  const bool nobody_answers = named.empty();
  if (nobody_answers && known.master) named.push_back({.at = *known.master, .is_down = false});
  if (named.empty()) inquiry.throw_why_none();

  std::string why;
  bool was_refused = false;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const SteadyTime now = steady_now();
    SteadyTime until = now + (deadline - now) / static_cast<int>(named.size() - i);
    if (i > 0 && now >= deadline) break;
    if (i == 0) until = std::max<SteadyTime>(until, now + time_after_a_name_server);
    if (named[i].is_down) until = std::min<SteadyTime>(until, now + time_for_one_said_to_be_down);
    try {
      FoundServer found{prove_any(address, named[i].at, until), inquiry.who_answered()};
      remember(address, found);
      return found;
    } catch (const IsReplica& replica) {
      why = replica.what();
      // After FAILOVER the sentinels still name the old master for half a minute; the old master itself names the new
      // one.
      const bool is_named =
          std::any_of(named.begin(), named.end(), [&](const NamedMaster& other) { return other.at == replica.master; });
      if (!is_named && !replica.master.host.empty() && i < most_followed)
        named.push_back({.at = replica.master, .is_down = false});
    } catch (const ConnectionLost& lost) {
      why = lost.what();
      was_refused |= lost.why == Loss::login_refused;
    }
  }
  if (was_refused) throw ConnectionLost(Loss::login_refused, fmt::format("the master {}: {}", address.master, why));
  if (nobody_answers) inquiry.throw_why_none();
  throw ConnectionLost(fmt::format("the sentinels name no living master {}: {}", address.master, why));
}

void remember_server(const RedisAddress& address, const FoundServer& found) {
  if (!address.in_cluster) return remember(address, found);
  std::vector<RedisSeed> nodes;
  for (const Teller& node : found.tellers) nodes.push_back(node.seed);
  remember_nodes(address, nodes);
}

}  // namespace brood
