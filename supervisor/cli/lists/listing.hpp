#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/cli/lists/job_json.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {

// As many lines as the terminal has room for; 25 if there is no terminal.
std::size_t usual_limit();
// "25 shown, page 2; there are 1,204 retries".
std::string listing_summary(std::size_t shown, std::size_t page, bool more, const std::string& total);

// One page of many jobs: a table for people, a JSON array for programs.  Programs get all jobs unless they set a limit.
template <typename Job>
class Listing {
 public:
  using JsonOf = std::function<std::string(const Job&)>;
  using TableOf = std::function<std::string(const std::vector<Job>&)>;

  Listing(std::optional<std::size_t> limit, std::optional<std::size_t> page, bool json, JsonOf json_of,
          TableOf table_of)
      : limit_(limit.value_or(json && !page ? 0 : usual_limit())),
        page_(page.value_or(1)),
        json_(json),
        json_of_(std::move(json_of)),
        table_of_(std::move(table_of)) {}

  // Returns false if the page is full.
  bool add(const Job& job) {
    if (limit_ != 0 && passed_++ < (page_ - 1) * limit_) return true;
    if (limit_ != 0 && shown_ == limit_) {
      more_ = true;
      return false;
    }
    ++shown_;
    if (json_)
      array_.add(json_of_(job));
    else
      waiting_.push_back(job);
    if (waiting_.size() == jobs_a_table) print_table();
    return true;
  }

  void end(const std::string& total) {
    if (json_) return array_.end();
    if (!waiting_.empty() || shown_ == 0) print_table();
    print(listing_summary(shown_, page_, more_, total));
  }

 private:
  static constexpr std::size_t jobs_a_table = 500;  // aligned together

  void print_table() {
    if (!waiting_.empty()) print(table_of_(waiting_));
    waiting_.clear();
  }

  const std::size_t limit_;  // 0: none
  const std::size_t page_;
  const bool json_;
  const JsonOf json_of_;
  const TableOf table_of_;
  JsonArray array_;
  std::vector<Job> waiting_;
  std::size_t passed_ = 0, shown_ = 0;
  bool more_ = false;
};

}  // namespace brood
