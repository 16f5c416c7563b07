// Jobs of batches that write their actions into the file $BATCH_LINES, one write per line.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include <brood/batch.hpp>
#include <brood/job.hpp>

using namespace std::chrono_literals;

namespace {

void write_down(const std::string& line) {
  const int file = open(std::getenv("BATCH_LINES"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const std::string whole = line + "\n";
  if (file < 0 || write(file, whole.data(), whole.size()) < 0) throw std::runtime_error("cannot write $BATCH_LINES");
  close(file);
}

std::string text(std::string_view view) { return std::string(view); }

bool is_there(const char* suffix) {
  return access((std::getenv("BATCH_LINES") + std::string(suffix)).c_str(), F_OK) == 0;
}

void wait_until_cancelled(const brood::Context& job) {
  write_down("waits " + text(job.bid()) + " " + text(job.jid()));
  while (!job.batch_cancelled() && !job.stopping()) std::this_thread::sleep_for(10ms);
  write_down("cancelled " + text(job.bid()) + " " + text(job.jid()));
}

}  // namespace

// `callback <event> <bid> <jid>`.
struct Noted {
  std::string event;
  static constexpr brood::JobOptions options{.queue = "callbacks"};
  static brood::RetryDecision retry_in(int, const std::exception&) { return 1s; }
  void perform(const brood::Context& job) const {
    const std::string payload = text(job.payload());
    const auto at = payload.find("\"cbid\":\"") + 8;
    write_down("callback " + event + " " + payload.substr(at, payload.find('"', at) - at) + " " + text(job.jid()));
  }
};

// `leaf <bid> <jid>`.  Every seventh fails in its first attempt.
struct Leaf {
  int number = 0;
  static constexpr brood::JobOptions options{.queue = "leaves"};
  static brood::RetryDecision retry_in(int, const std::exception&) { return 1s; }
  void perform(const brood::Context& job) const {
    std::this_thread::sleep_for(1ms);
    if (number % 7 == 3 && job.attempt() == 1) throw std::runtime_error("the first attempt");
    write_down("leaf " + text(job.bid()) + " " + text(job.jid()));
  }
};

// Makes a child of its own batch with this many leaves, and in each child another, `depth` deep.
struct Branch {
  int depth = 0, leaves = 0;
  static constexpr brood::JobOptions options{.queue = "branches"};
  static brood::RetryDecision retry_in(int, const std::exception&) { return 1s; }
  void perform(const brood::Context& job) const {
    static brood::Client& client = *new brood::Client();
    brood::Batch child(client, {.description = "a branch", .parent = text(job.bid())});
    for (const auto& [event, name] : {std::pair{brood::BatchEvent::complete, "complete"},
                                      {brood::BatchEvent::success, "success"},
                                      {brood::BatchEvent::death, "death"},
                                      {brood::BatchEvent::finished, "finished"}})
      child.on(event, Noted{name});
    child.push([&](brood::BatchJobs& jobs) {
      for (int i = 0; i < leaves / 2; ++i) jobs.enqueue(Leaf{i});
      if (depth > 1) jobs.enqueue(Branch{depth - 1, leaves});
      std::this_thread::sleep_for(2ms);
      for (int i = leaves / 2; i < leaves; ++i) jobs.enqueue(Leaf{i});
    });
    write_down("leaf " + text(job.bid()) + " " + text(job.jid()));
  }
};

// Adds to its own batch.
struct Reopen {
  static constexpr brood::JobOptions options{.queue = "branches"};
  void perform(const brood::Context& job) const {
    auto batch = brood::Batch::current(job);
    if (!batch) throw std::runtime_error("in no batch");
    batch->push([&](brood::BatchJobs& jobs) { jobs.enqueue_bulk(std::vector<Leaf>(3)); });
    write_down("leaf " + text(job.bid()) + " " + text(job.jid()));
  }
};

// Waits until its batch was cancelled: `cancelled <bid> <jid>`.
struct UntilCancelled {
  static constexpr brood::JobOptions options{.queue = "branches"};
  void perform(const brood::Context& job) const { wait_until_cancelled(job); }
};
struct UntilCancelledApart {
  static constexpr brood::JobOptions options{.queue = "branches", .isolation = brood::Isolation::process};
  void perform(const brood::Context& job) const { wait_until_cancelled(job); }
};

// Dies until the file $BATCH_LINES.healed exists.
struct Mortal {
  static constexpr brood::JobOptions options{.queue = "branches", .retry = 0};
  void perform(const brood::Context& job) const {
    if (!is_there(".healed")) throw std::runtime_error("not healed");
    write_down("leaf " + text(job.bid()) + " " + text(job.jid()));
  }
};

// Ends its worker.
struct Crash {
  static constexpr brood::JobOptions options{.queue = "branches", .retry = 0};
  void perform() const { std::abort(); }
};

// Returns twice its number as its result: `leaves <number>`.
struct Leaves {
  int number = 0;
  static constexpr brood::JobOptions options{.queue = "branches"};
  void perform(const brood::Context& job) const {
    job.result(2 * number);
    write_down("leaves " + std::to_string(number));
  }
};
struct LeavesApart {
  int number = 0;
  static constexpr brood::JobOptions options{.queue = "branches", .isolation = brood::Isolation::process};
  void perform(const brood::Context& job) const { job.result(2 * number); }
};

// Adds up the results of two steps: `sum <sum> <whether there is a third>`.
struct Sum {
  std::string one, other;
  static constexpr brood::JobOptions options{.queue = "branches"};
  void perform(const brood::Context& job) const {
    const int sum = job.result_of<int>(one).value_or(-1000) + job.result_of<int>(other).value_or(-1000);
    write_down("sum " + std::to_string(sum) + " " + (job.result_of("third") ? "yes" : "no"));
    job.result(sum);
  }
};
struct SumApart {
  std::string one, other;
  static constexpr brood::JobOptions options{.queue = "branches", .isolation = brood::Isolation::process};
  void perform(const brood::Context& job) const { Sum{one, other}.perform(job); }
};

// Its push into a child never returns.
struct Stuck {
  static constexpr brood::JobOptions options{.queue = "branches", .retry = 0};
  void perform(const brood::Context& job) const {
    brood::Client client;
    brood::Batch child(client, {.parent = text(job.bid())});
    child.push([&](brood::BatchJobs& jobs) {
      jobs.enqueue(Leaf{1});
      _exit(3);
    });
  }
};

BROOD_JOBS(Noted, Leaf, Branch, Reopen, UntilCancelled, UntilCancelledApart, Mortal, Crash, Stuck, Leaves, LeavesApart,
           Sum, SumApart)
