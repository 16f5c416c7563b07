#include "shared/store/replica_wait.hpp"

#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "shared/config/redis_location.hpp"
#include "shared/store/keys.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/replication.hpp"
#include "worker/session/session.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

namespace {

const std::string identity = "host:1:0123456789ab";

struct Ping {
  static constexpr std::string_view job_class = "Ping";
  void perform() {}
};

struct Named {
  std::string name;
  static constexpr std::string_view job_class = "Named";
  void perform() {}
};

struct Replicated {
  RedisServer master{{.extra = {"--repl-diskless-sync-delay", "0"}, .tcp = true}}, replica{{.tcp = true}};

  Replicated() {
    follow(replica, master);
    BOOST_REQUIRE(eventually([&] { return Replication::of(master).replicas_in_step == 1; }, 30s));
    // A replica gets later writes only after its next message, up to a second later.
    BOOST_REQUIRE(eventually(
        [&] {
          master.command({"SET", "x", "1"});
          return master.integer({"WAIT", "1", "100"}) == 1;
        },
        30s));
    master.command({"DEL", "x"});
    master.command({"CONFIG", "RESETSTAT"});
  }
  // A client that waits until the replica has what it pushes.
  Client waiting_client(std::chrono::milliseconds longest) {
    RedisSettings settings{.url = master.url(), .user = {}, .password_file = {}};
    settings.wait = 1;
    settings.wait_timeout = longest;
    tell_jobs_of_redis(settings);
    Client client;
    tell_jobs_of_redis({.url = {}, .user = {}, .password_file = {}, .share_with_jobs = false});
    return client;
  }
  long waits() {
    const std::string stats(master.command({"INFO", "commandstats"}).view().text());
    const std::size_t at = stats.find("cmdstat_wait:calls=");
    return at == std::string::npos ? 0 : std::stol(stats.substr(at + 19));
  }
};

// Passes commands on.  Before each script, a test may interfere.
class Tapped : public Channel {
 public:
  explicit Tapped(Channel& redis) : redis_(redis) {}
  Reply call(const Command& command) override {
    sent.push_back(command.args.front());
    return redis_.call(command);
  }
  std::vector<Reply> call_patiently(const std::vector<Command>& commands, const Patience& patience) override {
    for (const Command& command : commands) sent.push_back(command.args.front());
    if (before_wait && commands.back().args.front() == "WAIT") std::exchange(before_wait, nullptr)();
    return redis_.call_patiently(commands, patience);
  }
  std::uint64_t connections() const override { return redis_.connections() + moves; }
  void disconnect() override {
    ++disconnects;
    redis_.disconnect();
  }
  Strings sent;
  int disconnects = 0;
  std::uint64_t moves = 0;  // to another connection
  std::function<void()> before_wait = nullptr;

 private:
  Channel& redis_;
};

struct Worker {
  Connection redis;
  Tapped channel{redis};
  Scoreboard scoreboard = Scoreboard::in_memory(1);
  WorkerSlot slot{scoreboard.slot(0)};
  std::function<bool()> is_at_master = [] { return true; };
  std::function<void()> while_pausing = [] {};
  std::unique_ptr<Session> session;

  Worker(const RedisAddress& address, ReplicaWait wait) : redis(address) {
    vacate(scoreboard.slot(0), 17, 1);
    Session::Setup setup;
    setup.identity = identity;
    setup.identity_record = "{}";
    setup.pause = [this](std::chrono::milliseconds) { while_pausing(); };
    setup.wait = wait;
    setup.is_at_master = [this] { return is_at_master(); };
    session = std::make_unique<Session>(channel, slot, std::move(setup));
  }
  std::size_t fetch(const std::vector<Outcome>& outcomes = {}) {
    BOOST_REQUIRE((session->next(outcomes, {.draw = {"a"}, .most = 1, .wait_queue = "a"}) == Session::Next::held));
    return session->batch().entries.size();
  }
  // Acts like a worker after a lost wait.
  void wait_in_vain() {
    BOOST_TEST((session->wait({}) == Session::Waited::lost));
    session->give_up();
  }
  std::uint64_t unconfirmed() const { return snapshot(scoreboard.slot(0)).unconfirmed; }
};

constexpr ReplicaWait one_replica{1, 20s};
constexpr ReplicaWait hasty{1, 200ms};  // for cases where no replica will confirm

}  // namespace

BOOST_AUTO_TEST_CASE(without_a_replica_to_wait_for_nothing_is_asked) {
  Replicated redis;
  Worker worker(redis.master.address(), {});
  redis.master.command({"LPUSH", keys::queue("a"), "1"});

  BOOST_TEST(worker.fetch() == 1U);
  worker.fetch({Outcome{}});

  BOOST_TEST(redis.waits() == 0);
  BOOST_TEST(worker.unconfirmed() == 0U);
}

BOOST_AUTO_TEST_CASE(a_mark_makes_wait_cover_what_other_connections_have_written) {
  Replicated redis;
  redis.replica.pause();
  redis.master.command({"SET", "x", "1"});
  Connection other(redis.master.address());
  const std::vector<Reply> replies = other.pipeline({mark_for_wait(), wait_for({.replicas = 1, .timeout = 100ms})});
  BOOST_TEST(confirmed_by(replies[1].view()) == 0);

  redis.master.command({"CONFIG", "SET", "maxmemory", "1"});
  BOOST_TEST(other.call({"SET", "y", "1"}).view().is_error());
  BOOST_TEST(other.call(mark_for_wait()).view().is_integer());
  redis.replica.resume();
}

BOOST_AUTO_TEST_CASE(what_is_fetched_is_on_a_replica_before_it_is_returned_and_so_is_what_is_settled) {
  Replicated redis;
  Worker worker(redis.master.address(), one_replica);
  redis.master.command({"LPUSH", keys::queue("a"), "1"});

  BOOST_TEST(worker.fetch() == 1U);
  BOOST_TEST(redis.replica.size_of(keys::in_flight_list(identity, "0.17", "a").name()) == 1U);
  BOOST_TEST(redis.waits() == 1);

  BOOST_TEST(worker.fetch({Outcome{}}) == 0U);
  BOOST_TEST(redis.replica.size_of(keys::in_flight_list(identity, "0.17", "a").name()) == 0U);
  BOOST_TEST(redis.waits() == 2);

  // A fetch that brings nothing has nothing to confirm.
  BOOST_TEST(worker.fetch() == 0U);
  BOOST_TEST(redis.waits() == 2);
  BOOST_TEST(worker.unconfirmed() == 0U);
}

BOOST_AUTO_TEST_CASE(a_job_that_was_waited_for_is_on_a_replica_before_it_is_returned) {
  Replicated redis;
  Worker worker(redis.master.address(), one_replica);
  BOOST_TEST(worker.fetch() == 0U);
  redis.master.command({"LPUSH", keys::queue("a"), "1"});

  BOOST_TEST((worker.session->wait({}) == Session::Waited::job));

  BOOST_TEST(redis.replica.size_of(keys::in_flight_list(identity, "0.17", "a").name()) == 1U);
  BOOST_TEST(redis.waits() == 1);
}

BOOST_AUTO_TEST_CASE(where_replicas_are_away_a_worker_counts_and_goes_on) {
  Replicated redis;
  Worker worker(redis.master.address(), hasty);
  redis.master.command({"LPUSH", keys::queue("a"), "1"});
  redis.replica.pause();

  BOOST_TEST(worker.fetch() == 1U);
  BOOST_TEST(worker.unconfirmed() == 1U);
  worker.fetch({Outcome{}});
  BOOST_TEST(worker.unconfirmed() == 2U);
  BOOST_TEST(worker.channel.disconnects == 0);
  redis.replica.resume();
}

BOOST_AUTO_TEST_CASE(no_job_begins_on_a_server_that_replicas_have_left_and_that_is_no_longer_said_to_be_the_master) {
  Replicated redis;
  Worker worker(redis.master.address(), hasty);
  redis.master.command({"LPUSH", keys::queue("a"), "1"});
  redis.replica.pause();
  int asked = 0;
  worker.is_at_master = [&] {
    ++asked;
    return false;
  };
  int pauses = 0;
  worker.while_pausing = [&] {
    BOOST_TEST(worker.channel.disconnects > 0);
    BOOST_TEST(worker.session->batch().entries.empty());
    if (++pauses < 3) return;
    redis.replica.resume();
    BOOST_TEST(eventually([&] { return is_in_step(redis.replica, redis.master); }, 30s));
  };

  BOOST_TEST(worker.fetch() == 1U);
  BOOST_TEST(pauses >= 3);
  BOOST_TEST(asked >= 3);
  // The second one was recognised as a repetition.
  BOOST_TEST(redis.master.hget(keys::in_flight_hash(identity).name(), "0.17").value_or("") == "1 a");
}

BOOST_AUTO_TEST_CASE(a_job_that_was_waited_for_there_goes_back_to_its_queue) {
  Replicated redis;
  Worker worker(redis.master.address(), hasty);
  BOOST_TEST(worker.fetch() == 0U);
  redis.master.command({"LPUSH", keys::queue("a"), "1"});
  redis.replica.pause();
  worker.is_at_master = [] { return false; };

  worker.wait_in_vain();

  BOOST_TEST(redis.master.size_of(keys::queue("a").name()) == 1U);
  BOOST_TEST(worker.session->batch().entries.empty());
  redis.replica.resume();
}

BOOST_AUTO_TEST_CASE(nothing_is_confirmed_on_another_connection_than_it_was_written_on) {
  Replicated redis;
  Worker worker(redis.master.address(), one_replica);
  redis.master.command({"LPUSH", keys::queue("a"), "1"});
  const auto reconnect = [&] { ++worker.channel.moves; };
  bool sent_again = false;
  worker.while_pausing = [&] { sent_again = true; };
  worker.channel.before_wait = reconnect;

  BOOST_TEST(worker.fetch() == 1U);
  BOOST_TEST(sent_again);
  BOOST_TEST(redis.waits() == 2);
  worker.fetch({Outcome{}});

  redis.master.command({"LPUSH", keys::queue("a"), "1"});
  worker.channel.before_wait = reconnect;
  worker.wait_in_vain();
  BOOST_TEST(redis.master.size_of(keys::queue("a").name()) == 1U);
}

BOOST_AUTO_TEST_CASE(a_push_that_replicas_do_not_confirm_says_so_and_is_there_and_a_buffer_keeps_it) {
  Replicated redis;
  RedisSettings settings{.url = redis.master.url(), .user = {}, .password_file = {}};
  settings.wait = 1;
  settings.wait_timeout = 2s;
  tell_jobs_of_redis(settings);
  Client client, keeps;
  keeps.buffer();
  tell_jobs_of_redis({.url = {}, .user = {}, .password_file = {}, .share_with_jobs = false});
  client.push({.job_class = "Job"});
  BOOST_TEST(redis.replica.size_of("queue:default") == 1U);

  redis.replica.pause();
  BOOST_CHECK_EXCEPTION(client.push({.job_class = "Job"}), NotConfirmed, [](const NotConfirmed& why) {
    return std::string(why.what()).find("pushed, but only 0 of 1 replicas confirmed it within 2000 ms") !=
           std::string::npos;
  });
  BOOST_TEST(redis.master.size_of("queue:default") == 2U);
  keeps.push({.job_class = "Job"});
  BOOST_TEST(keeps.buffered() == 1U);
  BOOST_TEST(redis.master.size_of("queue:default") == 3U);

  redis.replica.resume();
  BOOST_TEST(eventually([&] { return is_in_step(redis.replica, redis.master); }, 30s));
  BOOST_TEST(eventually([&] { return keeps.drain() == 0; }));
  BOOST_TEST(redis.master.size_of("queue:default") == 3U);
}

// The exception means that all were pushed: the caller does not push the rest again.
BOOST_AUTO_TEST_CASE(of_many_jobs_that_replicas_do_not_confirm_all_are_pushed) {
  Replicated redis;
  Client client = redis.waiting_client(100ms);
  redis.replica.pause();

  BOOST_CHECK_THROW(client.enqueue_bulk(std::vector<Ping>(2'500)), NotConfirmed);
  BOOST_TEST(redis.master.size_of("queue:default") == 2'500U);
  std::vector<Push> pushes(2'500, Push{.job_class = "Ping", .queue = "other"});
  pushes[7].members = {{"unique_until", "\"start\""}};
  BOOST_CHECK_THROW(client.push_bulk(std::move(pushes)), NotConfirmed);
  BOOST_TEST(redis.master.size_of("queue:other") == 2'500U);
  redis.replica.resume();
}

BOOST_AUTO_TEST_CASE(replicas_that_lag_behind_the_first_of_many_jobs_may_catch_up) {
  Replicated redis;
  Client client = redis.waiting_client(5s);
  client.push({.job_class = "Ping", .queue = "first"});
  const long waits = redis.waits();
  redis.replica.pause();
  std::thread catches_up([&] {
    eventually([&] { return redis.master.size_of("queue:default") == 3'000U; }, 60s);
    redis.replica.resume();
  });
  BOOST_CHECK_NO_THROW(client.push_bulk(std::vector<Push>(3'000, Push{.job_class = "Ping"})));
  catches_up.join();
  BOOST_TEST(redis.waits() - waits == 2);  // for the first slice, and for all of them
}

BOOST_AUTO_TEST_CASE(what_is_refused_later_does_not_hide_that_replicas_have_not_confirmed) {
  Replicated redis;
  Client client = redis.waiting_client(100ms);
  redis.replica.pause();
  redis.master.command({"SET", "queue:b", "no list"});
  std::vector<Push> pushes(2'000, Push{.job_class = "Ping"});
  pushes.back().queue = "b";
  BOOST_CHECK_EXCEPTION(client.push_bulk(std::move(pushes)), RedisError, [](const RedisError& error) {
    return std::string(error.what())
        .ends_with("of 2000 jobs the first 1000 were pushed, and replicas have not confirmed all of them");
  });
  std::vector<Named> jobs(2'000);
  jobs.back().name = "\xff";
  BOOST_CHECK_EXCEPTION(client.enqueue_bulk(jobs), std::invalid_argument, [](const std::invalid_argument& error) {
    return std::string(error.what())
        .ends_with("; the 1000 jobs before these were pushed, and replicas have not confirmed all of them");
  });
  redis.replica.resume();
}

BOOST_AUTO_TEST_CASE(replicas_may_be_waited_for_longer_than_redis_is) {
  Replicated redis;
  Client client = redis.waiting_client(11s);
  redis.replica.pause();
  BOOST_CHECK_THROW(client.push({.job_class = "Ping"}), NotConfirmed);
  BOOST_TEST(redis.master.size_of("queue:default") == 1U);
  redis.replica.resume();
}
