#pragma once

#include <array>
#include <brood/argument.hpp>
#include <brood/job.hpp>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

// Jobs that together use everything a job may.  A program that enqueues them includes this and links no job.

// Types of its own, and how they travel.
enum class Colour { red, green };
template <>
struct brood::EnumNames<Colour> {
  static constexpr std::pair<std::string_view, Colour> names[] = {{"red", Colour::red}, {"green", Colour::green}};
};
class Cents {
 public:
  Cents() = default;
  explicit Cents(int count) : count(count) {}
  int count = 0;
};
template <>
struct brood::Argument<Cents> {
  using Wire = std::string;
  static Wire write(const Cents& cents) { return std::to_string(cents.count) + " ct"; }
  static Cents read(const Wire& text) { return Cents(std::stoi(text)); }
};

// Every type that a field may have, and every option that a class may.
struct Everything {
  struct Point {
    int x = 0, y = 0;
  };
  bool flag = false;
  std::int64_t number = 0;
  double real = 0;
  std::string text = {};
  std::vector<std::string> list = {};
  std::array<int, 2> pair{};
  std::map<std::string, int> sizes = {};
  std::unordered_map<std::string, Point> places = {};
  brood::Json any = {};
  Colour colour = Colour::red;
  std::chrono::milliseconds wait{};
  std::filesystem::path file = {};
  std::tuple<Cents, std::set<int>, std::variant<int, std::string>, std::vector<std::byte>> more = {};
  std::optional<std::string> perhaps = {};

  static constexpr std::string_view job_class = "Consumer::Everything";
  static constexpr brood::JobOptions options{.queue = "images",
                                             .retry = 5,
                                             .timeout = std::chrono::seconds(30),
                                             .backtrace = 10,
                                             .dead = false,
                                             .tags = {"one", "two"},
                                             .retry_for = std::chrono::hours(1),
                                             .retry_queue = "again",
                                             .required = 9,
                                             .isolation = brood::Isolation::process,
                                             .threads = brood::LeftThreads::replace,
                                             .expires_in = std::chrono::hours(24),
                                             .keep_result = std::chrono::hours(1)};
  void perform(brood::Context& job);
};

// Ends as `how` says, and its hooks answer accordingly.
struct Ends {
  std::string how;

  static constexpr brood::JobOptions options{
      .isolation = brood::Isolation::worker, .threads = brood::LeftThreads::allow, .encrypt = false};
  void perform();
  static brood::RetryDecision retry_in(int count, const std::exception& error);
  brood::RetryDecision exhausted(const brood::JobInfo& job, const std::exception& error) const;
  void on_expired(const brood::JobInfo& job) const;
};

// Unique jobs, each struct in a different way.
struct OnceUntilDone {
  int number = 0;
  std::string note = {};

  static constexpr brood::JobOptions options{.unique = true, .unique_until = brood::UniqueUntil::done};
  static constexpr auto unique_by = std::tuple{&OnceUntilDone::number};
  void perform() {}
};
struct OnceUntilStart {
  static constexpr brood::JobOptions options{.unique_for = std::chrono::minutes(10),
                                             .unique_until = brood::UniqueUntil::start};
  void perform() {}
};
struct OneAtATime {
  static constexpr brood::JobOptions options{
      .unique = true, .unique_until = brood::UniqueUntil::running, .on_conflict = brood::OnConflict::after};
  void perform() {}
};
struct OneAndNoMore {
  static constexpr brood::JobOptions options{
      .unique = true, .unique_until = brood::UniqueUntil::running, .on_conflict = brood::OnConflict::drop};
  void perform() {}
};

// Runs until it is stopped.
struct Lingers {
  void perform(brood::Context& job);
};

// A job that middleware turns into another one.
struct Replaced {
  std::string by_whom;
  void perform();
};

// Has limits of every kind.
struct Limited {
  bool by_hand = false;  // throws OverLimit itself
  void perform() const;
};

// Iterates over the lines of a file, and stops once in the middle.
struct Lines {
  std::string file;

  static constexpr auto flush_interval = std::chrono::seconds(0);
  static constexpr auto max_iteration_runtime = std::chrono::minutes(10);
  brood::Items<std::string> items(std::optional<std::int64_t> cursor) const;
  void each(const std::string& line, brood::Iteration& job) const;
  void on_start(brood::Iteration& job) const;
  void on_resume() const;
  void on_stop() const;
  void on_cancel() const;
  void on_complete() const;
};

// Notes its arguments, and that it is in a batch.
struct InBatch {
  std::string what;

  void perform(const brood::Context& job) const;
};

// Items in batches.
struct Batches {
  int count = 0;

  brood::Items<std::vector<int>> items(std::optional<std::int64_t> cursor) const;
  void each(const std::vector<int>& batch) const;
};

// Items of the job's own making: from a function, then from a range.
struct Steps {
  bool of_a_range = false;

  brood::Items<std::string, std::string> items(std::optional<std::string> cursor) const;
  void each(const std::string& item, brood::Iteration& job) const;
};
