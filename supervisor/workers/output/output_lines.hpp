#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace brood {

// Cuts the output of jobs into lines, and takes out the marks of jobs' ends (shared/scoreboard/job_end_mark.hpp).
// Pure: bytes in, items out.
class OutputLines {
 public:
  static constexpr std::size_t longest_line = 8 * 1024;

  struct Item {
    enum class Kind {
      line,        // `text` ends here
      part,        // the line continues in the next item: it is longer than `longest_line`, or was taken unfinished
      end_of_job,  // the job `jid` of class `job_class` printed what came before
    };
    Kind kind = Kind::line;
    std::string_view text, jid, job_class;  // valid until the next add()
  };

  explicit OutputLines(std::string token) : token_(std::move(token)) {}

  void add(std::string_view bytes);

  // The next whole item; nullopt if more bytes are needed.
  std::optional<Item> next();

  // Whether there is text behind the last newline, for when next() returns nullopt.
  bool has_unfinished() const { return begin_ < bytes_.size(); }
  Item take_unfinished(Item::Kind kind);

 private:
  Item take(Item::Kind kind, std::size_t size, std::size_t separator = 0);

  std::string token_;
  std::string bytes_;
  std::size_t begin_ = 0;    // of what has not been returned yet
  std::size_t scanned_ = 0;  // no newline from begin_ up to here
};

}  // namespace brood
