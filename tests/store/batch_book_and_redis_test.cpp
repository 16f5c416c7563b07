#include <boost/test/unit_test.hpp>
#include <random>

#include "shared/job/batch_membership.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/batches/batch.hpp"
#include "shared/store/batches/flow.hpp"
#include "tests/support/redis_server.hpp"
#include "worker/testing/batch_book.hpp"

using namespace brood;
using testing::BatchBook;
using testing::FakeBatch;
using Strings = std::vector<std::string>;

// The testing kit counts batches as the scripts count them.
namespace {

constexpr std::array event_names{"complete", "success", "death", "finished"};

std::string payload_of(const std::string& jid, const std::string& members = "") {
  return R"({"class":"A","args":[],"jid":")" + jid + '"' + members + R"(,"created_at":1})";
}

// Does the same in a Redis and in a book.
struct Both {
  RedisServer redis;
  Connection connection{redis.address()};
  BatchBook book;
  Strings pushed_by_book;  // jids, in order
  int jids = 0;
  struct Known {
    BatchPush push;
    bool is_open = true, is_flow = false, has_steps = false;
    std::uint64_t slices = 0;
    std::vector<std::uint32_t> jobs = {};  // that were pushed
  };
  std::vector<Known> batches;
  std::vector<std::pair<std::string, std::string>> callbacks;  // bid and jid of those that were pushed

  std::string new_jid() { return "j" + std::to_string(++jids); }
  std::string ask(const ScriptCall& call) {
    return std::to_string(static_cast<int>(read_batch_answer(connection.run(call).view())));
  }
  static std::string said(BatchAnswer answer) { return std::to_string(static_cast<int>(answer)); }

  Known& find(const std::string& bid) { return batches.at(std::stoul(bid.substr(1))); }
  void take_due() {
    for (const ClientPush& push : book.take_due()) {
      pushed_by_book.push_back(push.jid);
      const auto job = batch_named_by(push.payload);
      if (job && !job->bid.empty()) find(job->bid).jobs.push_back(job->index);
      if (job && !job->callback.empty()) callbacks.emplace_back(job->callback, job->jid);
    }
  }

  void open(const std::string& parent, bool is_flow) {
    const std::string bid = "b" + std::to_string(batches.size());
    NewBatch made{};
    made.push = {bid, "t" + bid, "host 1 1"};
    made.parent = parent;
    for (const char* event : event_names) {
      for (std::size_t number = 1; number <= (jids + number) % 3; ++number) {
        const std::string jid = new_jid();
        const std::string members = R"(,"cbid":")" + bid + R"(","batch_callback":")" + event + '"';
        made.callbacks.emplace_back(callback_field(event, number),
                                    callback_value("all", false, jid, payload_of(jid, members)));
      }
    }
    BOOST_TEST(said(book.open(made)) == ask(open_batch(made, wall_now())));
    batches.push_back({.push = made.push, .is_flow = is_flow});
  }

  void push_jobs(Known& to, int count) {
    std::vector<BatchJob> jobs;
    std::vector<ClientPush> pushes;
    for (int i = 0; i < count; ++i) {
      const std::string jid = new_jid();
      jobs.push_back({jid, "", payload_of(jid)});
      pushes.push_back({.jid = jid, .queue = "rows", .payload = payload_of(jid), .score = std::nullopt});
    }
    const BatchAnswer answer = book.may_push(to.push.bid);
    const Reply reply =
        connection.run(push_to_batch(to.push, ++to.slices, static_cast<std::uint32_t>(to.jobs.size()), "rows", jobs));
    BOOST_TEST(said(answer) == said(read_pushed_to_batch(reply.view()).answer));
    if (answer != BatchAnswer::ok) return;
    for (ClientPush& push : pushes) {
      book.add(to.push.bid, push);
      to.jobs.push_back(static_cast<std::uint32_t>(to.jobs.size()));
    }
  }

  void push_steps(Known& to, std::mt19937_64& random) {
    constexpr std::array policies{"fail", "run", "skip"};
    const std::string& bid = to.push.bid;
    std::vector<NewStep> steps(6);
    std::vector<std::uint32_t> begin;
    for (std::uint32_t i = 0; i < steps.size(); ++i) {
      const std::string jid = new_jid();
      steps[i].name = "s" + std::to_string(i);
      steps[i].kept = callback_value("all", false, jid, with_place_in_batch(payload_of(jid), bid, i));
      steps[i].if_failed = policies.at(random() % 3);
      for (std::uint32_t before = 0; before < i; ++before) {
        if (random() % 3 != 0) continue;
        steps[before].after.push_back(i);
        ++steps[i].before;
      }
      if (steps[i].before == 0) begin.push_back(i);
    }
    const std::string answer = ask(add_steps(to.push, ++to.slices, 0, steps));
    BOOST_TEST(said(book.add_steps(bid, steps)) == answer);
    if (answer != said(BatchAnswer::ok)) return;
    ask(release_steps(bid, begin));
    to.has_steps = true;
  }

  void end_job(const std::string& bid, std::uint32_t index, JobEnding ending) {
    connection.run(end_jobs_in_batch(bid, std::to_string(index), word_of(ending)));
    book.end(with_place_in_batch(payload_of("any"), bid, index), ending);
  }
  // Retries it as an operator does on a page.
  void retry_failed_step(std::mt19937_64& random) {
    const auto dead = redis.zrange("dead");
    if (dead.empty() || random() % 3 != 0) return;
    const std::string payload = dead.at(random() % dead.size()).first;
    redis.command({"ZREM", RedisKey("dead"), payload});
    BOOST_TEST(book.take_failed_step(Payload::parse(payload).jid()).has_value());
    const auto job = batch_named_by(payload);
    find(job->bid).jobs.push_back(job->index);
  }
  void end_callback(const std::string& bid, const std::string& jid, JobEnding ending) {
    connection.run(end_callback_in_batch(bid, jid, word_of(ending)));
    book.end(payload_of(jid, R"(,"cbid":")" + bid + '"'), ending);
  }
  static std::string word_of(JobEnding ending) {
    return ending == JobEnding::done ? "done" : ending == JobEnding::failed ? "failed" : "dead 1000";
  }

  static std::string line(const std::string& bid, std::string_view state, std::int64_t total, std::int64_t succeeded,
                          std::int64_t pending, std::int64_t failing, std::int64_t dead) {
    return bid + " " + std::string(state) + " " + std::to_string(total) + " = " + std::to_string(succeeded) + " + " +
           std::to_string(pending) + " + " + std::to_string(dead) + ", " + std::to_string(failing) + " failing";
  }
  void compare() {
    take_due();
    Strings in_redis, in_book;
    for (const Known& known : batches) {
      const std::vector<Command> ask = ask_batch(known.push.bid);
      const Reply hash = redis.command(ask[0]), children = redis.command(ask[1]);
      const auto one = read_batch(known.push.bid, hash.view(), children.view());
      if (one)
        in_redis.push_back(
            line(one->bid, to_string(one->state), one->total, one->succeeded, one->pending, one->failing, one->dead));
    }
    constexpr std::array names{"open", "running", "complete", "success", "finished", "cancelled"};
    const auto number = [](std::size_t of) { return static_cast<std::int64_t>(of); };
    for (const FakeBatch& one : book.batches())
      in_book.push_back(line(one.bid, names.at(static_cast<std::size_t>(one.state)), number(one.total),
                             number(one.succeeded), number(one.pending), number(one.failing), number(one.dead)));
    BOOST_TEST(in_book == in_redis, boost::test_tools::per_element());

    Strings pushed, dead, failed;
    for (const std::string& payload : redis.lrange("queue:all"))
      pushed.insert(pushed.begin(), Payload::parse(payload).jid());
    BOOST_TEST(pushed_by_book == pushed, boost::test_tools::per_element());
    const auto text_of = [](const Payload& one) { return one.jid() + " " + one.string("error_message").value_or(""); };
    for (const auto& [payload, score] : redis.zrange("dead")) dead.push_back(text_of(Payload::parse(payload)));
    for (const std::string& record : book.failed_steps()) failed.push_back(text_of(Payload::parse(record)));
    std::sort(dead.begin(), dead.end());
    std::sort(failed.begin(), failed.end());
    BOOST_TEST(failed == dead, boost::test_tools::per_element());
  }

  void do_anything(std::mt19937_64& random) {
    const auto below = [&](std::size_t end) { return random() % end; };
    constexpr std::array endings{JobEnding::done, JobEnding::done, JobEnding::failed, JobEnding::gone};
    if (batches.size() < 4 && below(6) == 0) {
      const bool is_child = !batches.empty() && below(2) == 0;
      return open(is_child ? batches[below(batches.size())].push.bid : "", below(2) == 0);
    }
    if (batches.empty()) return;
    Known& known = batches[below(batches.size())];
    const JobEnding ending = endings.at(below(4));
    switch (below(9)) {
      case 0:
        if (known.is_flow && known.is_open && !known.has_steps) return push_steps(known, random);
        if (!known.is_flow) push_jobs(known, static_cast<int>(below(4)));
        return;
      case 1:
        if (std::exchange(known.is_open, false))
          BOOST_TEST(said(book.close(known.push.bid, true)) == ask(close_push(known.push, true)));
        return;
      case 2:
        if (below(6) != 0) return;
        ask(cancel_batch(known.push.bid));
        return book.cancel(known.push.bid);
      case 3:
        if (known.is_open || known.is_flow || below(3) != 0) return;
        known.push.token += "again";
        known.slices = 0;
        BOOST_TEST(said(book.reopen(known.push.bid)) == ask(reopen_batch(known.push)));
        known.is_open = true;
        return;
      case 4:
        if (callbacks.empty()) return;
        {
          const auto& [bid, jid] = callbacks[below(callbacks.size())];
          return end_callback(bid, jid, ending);
        }
      case 5:
        return retry_failed_step(random);
      default:
        if (!known.jobs.empty()) end_job(known.push.bid, known.jobs[below(known.jobs.size())], ending);
    }
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(any_series_of_calls_counts_as_in_redis) {
  Both both;
  std::mt19937_64 random(1);
  for (int series = 0; series < 100; ++series) {
    both.redis.flush();
    both.book = {};
    both.batches.clear();
    both.callbacks.clear();
    both.pushed_by_book.clear();
    BOOST_TEST_CONTEXT("series " << series) {
      for (int call = 0; call < 60; ++call) {
        BOOST_TEST_CONTEXT("call " << call) {
          both.do_anything(random);
          both.compare();
        }
      }
    }
  }
}
