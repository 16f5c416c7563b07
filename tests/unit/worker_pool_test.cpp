#include <boost/test/unit_test.hpp>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "supervisor/workers/worker_pool.hpp"
#include "tests/support/idle_program.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr int was_told = 7, was_not_told = 8;

using WorkerBody = std::function<int(const WorkerSetup&)>;

struct OneShard : WorkerShards {
  void place_new(int, int, int) override {}
  void place_again(int) override {}
  bool left_behind(int) override { return false; }
  void redis_moved(int) override { ++moves; }
  void unblock(int) override {}
  int moves = 0;
};

// A worker that reports that it is ready, waits for one byte of its supervisor, and ends.
int listen_once(const WorkerSetup& worker_setup) {
  const char ready = static_cast<char>(ControlByte::ready);
  if (write(worker_setup.control, &ready, 1) != 1) return was_not_told;
  pollfd pipe{worker_setup.control, POLLIN, 0};
  return poll(&pipe, 1, 5'000) == 1 ? was_told : was_not_told;
}

// A worker that sends `byte`, with that entry running or none, and waits for its supervisor's answer.
WorkerBody one_that_says(ControlByte byte, int running) {
  return [byte, running](const WorkerSetup& worker_setup) {
    worker_setup.record->current.store(running);
    const char said = static_cast<char>(byte);
    if (write(worker_setup.control, &said, 1) != 1) return was_not_told;
    pollfd pipe{worker_setup.control, POLLIN, 0};
    return poll(&pipe, 1, 5'000) == 1 ? was_told : was_not_told;
  };
}

class OneBody final : public IdleProgram {
 public:
  explicit OneBody(WorkerBody body) : body_(std::move(body)) {}
  int work(const WorkerSetup& setup) override { return body_(setup); }

 private:
  const WorkerBody body_;
};

// Runs a supervisor of one such worker until that has ended.  Returns how it ended.
int end_of(const WorkerBody& body, OneShard& shard) {
  const TemporaryDirectory directory;
  EventLoop loop;
  auto config = std::make_shared<Config>();
  config->capsules.push_back({.concurrency = 1});
  WorkerSlots slots({.runtime_directory = directory.path(), .identity = "host:1:a"}, *config);
  const Generations generations(std::make_shared<Generation>(Generation{1, config, std::make_shared<OneBody>(body)}));
  WorkerOrders orders(loop, shard, slots, generations);
  Children children(loop);
  WorkerPool pool(loop, children, slots, generations, orders, shard, "host:1:a", *config, std::nullopt);
  pool.fill_vacant_places();
  int status = 0;
  Timer wake(loop);
  while (waitpid(-1, &status, WNOHANG) == 0) {
    wake.start_in(5ms);
    loop.run_once();
  }
  return status;
}

int end_of(const WorkerBody& body) {
  OneShard shard;
  return end_of(body, shard);
}

bool is_killed(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

}  // namespace

BOOST_AUTO_TEST_CASE(one_whose_ready_byte_was_not_read_yet_is_told_of_a_pause_too) {
  const TemporaryDirectory directory;
  EventLoop loop;
  auto config = std::make_shared<Config>();
  config->capsules.push_back({.concurrency = 2});
  WorkerSlots slots({.runtime_directory = directory.path(), .identity = "host:1:a"}, *config);
  const Generations generations(
      std::make_shared<Generation>(Generation{1, config, std::make_shared<OneBody>(listen_once)}));
  OneShard shard;
  WorkerOrders orders(loop, shard, slots, generations);
  Children children(loop);
  WorkerPool pool(loop, children, slots, generations, orders, shard, "host:1:a", *config, std::nullopt);
  pool.fill_vacant_places();

  // The loop has not run since, so the supervisor has read nothing.
  orders.note_queues_changed(true);

  for (int worker = 0; worker < 2; ++worker) {
    int status = 0;
    BOOST_REQUIRE(waitpid(-1, &status, 0) > 0);
    BOOST_TEST(WEXITSTATUS(status) == was_told);
  }
}

BOOST_AUTO_TEST_CASE(one_that_holds_nothing_gets_an_incarnation) {
  BOOST_TEST(WEXITSTATUS(end_of(one_that_says(ControlByte::need_incarnation, -1))) == was_told);
}

BOOST_AUTO_TEST_CASE(a_job_that_asks_for_an_incarnation_breaks_the_protocol) {
  BOOST_TEST(is_killed(end_of(one_that_says(ControlByte::need_incarnation, 0))));
  BOOST_TEST(is_killed(end_of(one_that_says(ControlByte::left_behind, 0))));
}

BOOST_AUTO_TEST_CASE(a_worker_that_found_its_redis_elsewhere_is_heard) {
  OneShard shard;
  const int status = end_of(
      [](const WorkerSetup& worker_setup) {
        const char moved = static_cast<char>(ControlByte::redis_moved);
        if (write(worker_setup.control, &moved, 1) != 1) return was_not_told;
        return one_that_says(ControlByte::need_incarnation, -1)(worker_setup);
      },
      shard);
  BOOST_TEST(WEXITSTATUS(status) == was_told);
  BOOST_TEST(shard.moves == 1);
}

BOOST_AUTO_TEST_CASE(with_one_shard_no_worker_leaves_anything_behind) {
  BOOST_TEST(is_killed(end_of(one_that_says(ControlByte::left_behind, -1))));
}
