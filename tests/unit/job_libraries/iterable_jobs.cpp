// The jobs of iteration_test: each writes what happens to it, a line each, to the file that is its first argument.
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <thread>

#include <brood/job.hpp>

using namespace std::chrono_literals;

namespace {

void write(const std::string& path, const std::string& line) { std::ofstream(path, std::ios::app) << line << "\n"; }

std::vector<int> numbers_below(int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

// Saves before each item.
struct Hooked {
  std::string path;
  int count = 0;

  static constexpr auto flush_interval = 0s;
  brood::Items<int> items(std::optional<std::int64_t> cursor) const {
    write(path, "items " + (cursor ? std::to_string(*cursor) : "new"));
    return brood::each_of(numbers_below(count), cursor);
  }
  void each(int number, brood::Iteration& job) {
    write(path, "each " + std::to_string(number) + " after " + std::to_string(job.items_done()) + " of run " +
                    std::to_string(job.executions()));
  }
  void on_start() { write(path, "start"); }
  void on_resume(brood::Iteration& job) { write(path, "resume as " + std::to_string(job.executions())); }
  void on_stop() { write(path, "stop"); }
  void on_cancel(brood::Context& job) { write(path, "cancel " + std::string(job.jid())); }
  void on_complete() { write(path, "complete"); }
};

// Saves as seldom as any job.
struct Plain {
  std::string path;
  int count = 0;
  std::optional<int> breaks_at = {};

  brood::Items<int> items(std::optional<std::int64_t> cursor) const {
    return brood::each_of(numbers_below(count), cursor);
  }
  void each(int number) {
    if (number == breaks_at) throw std::runtime_error("item " + std::to_string(number));
    write(path, std::to_string(number));
  }
};

struct InterruptsItself {
  std::string path;

  brood::Items<int> items(std::optional<std::int64_t> cursor) const { return brood::each_of(numbers_below(5), cursor); }
  void each(int number) {
    if (number == 2) throw brood::Interrupted{};
    write(path, std::to_string(number));
  }
  void on_stop() { write(path, "stop"); }
};

struct FinishesEarly {
  std::string path;

  brood::Items<int> items(std::optional<std::int64_t> cursor) const { return brood::each_of(numbers_below(5), cursor); }
  void each(int number, brood::Iteration& job) {
    write(path, std::to_string(number));
    if (number == 2) job.finish();
  }
  void on_complete() { write(path, "complete"); }
};

struct FailsAtTheEnd {
  std::string path;

  brood::Items<int> items(std::optional<std::int64_t> cursor) const { return brood::each_of(numbers_below(3), cursor); }
  void each(int number) { write(path, std::to_string(number)); }
  void on_complete() { throw std::runtime_error("not complete"); }
};

// Cursors that are no numbers.
struct Words {
  std::string path;

  static constexpr auto flush_interval = 0s;
  brood::Items<int, std::string> items(const std::optional<std::string>& cursor) const {
    std::vector<brood::Step<int, std::string>> steps{{1, "a"}, {2, "\"b\""}, {3, "\xC3\xA4"}};
    while (cursor && steps.front().cursor != *cursor) steps.erase(steps.begin());
    return steps;
  }
  void each(int number) { write(path, std::to_string(number)); }
};

struct Place {
  std::string shard;
  std::int64_t id = 0;
};

struct Places {
  std::string path;

  static constexpr auto flush_interval = 0s;
  static brood::Items<std::int64_t, Place> items(std::optional<Place> cursor) {
    return [at = cursor.value_or(Place{"s1", 7})]() mutable -> std::optional<brood::Step<std::int64_t, Place>> {
      if (at.id > 9) return std::nullopt;
      const Place now = at;
      ++at.id;
      return brood::Step{now.id, now};
    };
  }
  void each(std::int64_t id) { write(path, std::to_string(id)); }
};

struct ShortRuns {
  std::string path;

  static constexpr auto max_iteration_runtime = 1ns;
  brood::Items<int> items(std::optional<std::int64_t> cursor) const { return brood::each_of(numbers_below(3), cursor); }
  void each(int number) { write(path, std::to_string(number)); }
};

struct LongRuns {
  std::string path;

  static constexpr auto max_iteration_runtime = 0s;
  brood::Items<int> items(std::optional<std::int64_t> cursor) const { return brood::each_of(numbers_below(3), cursor); }
  void each(int number) { write(path, std::to_string(number)); }
};

// Saves once for the long item, and not for those that follow.
struct OneLongItem {
  std::string path;

  static constexpr auto flush_interval = 300ms;
  brood::Items<int> items(std::optional<std::int64_t> cursor) const {
    return brood::each_of(numbers_below(100), cursor);
  }
  void each(int number) {
    if (number == 0) std::this_thread::sleep_for(flush_interval);
  }
};

BROOD_JOBS(Hooked, Plain, InterruptsItself, FinishesEarly, FailsAtTheEnd, Words, Places, ShortRuns, LongRuns,
           OneLongItem)
