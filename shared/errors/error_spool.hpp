#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/unique_fd.hpp"
#include "shared/scoreboard/error_counts.hpp"

namespace brood {

// Where reports of failures wait for the reporter of a supervisor: a directory beside its scoreboard, a file for each.
// A file stays until the report has been sent, so a reporter that is killed loses none; but one that several reporters
// had in hand when they were killed is given up.
std::string error_spool_path(const std::string& runtime_directory, const std::string& identity);

// Makes it with mode 0700, if it is not there.  Throws std::system_error.
void make_error_spool(const std::string& path);
// Removes a bounded number of its files, since jobs can make any number, and then the directory.
struct RemovedSpool {
  std::size_t reports = 0;  // that were removed by this call
  bool goes_on = false;     // there are more: call it again, later
};
RemovedSpool remove_error_spool(const std::string& path);

inline constexpr std::size_t longest_error_report = std::size_t{1} << 20;
inline constexpr std::size_t most_spooled_bytes = std::size_t{16} << 20;

// Writes reports.  Never waits: there is a bound to what the spool holds.
class ErrorSpoolWriter {
 public:
  // `counts` may be nullptr.
  ErrorSpoolWriter(std::string path, ErrorCounts* counts);

  // Returns false if it is lost, which is counted.
  bool write(std::string_view report);

 private:
  bool write_file(std::string_view report);

  const std::string path_;
  ErrorCounts* const counts_;
  unsigned number_ = 0;
};

// For the one process that reads.  Jobs can write there too, so no file is trusted.
class ErrorSpoolReader {
 public:
  // Throws std::system_error.
  explicit ErrorSpoolReader(std::string path);

  // Whether the directory that it reads is the one at the path.
  bool is_in_place() const;

  // Whether no other process reads now.  From then on none does.
  bool lock();
  // Poll it: readable when a report has come.  -1: the kernel gives none, so look now and then.
  int news() const { return news_.get(); }
  void hear_news() const;

  // The names of the oldest files, the oldest first, `most` at most.  Removes what writers that were killed have left,
  // and what is neither a file nor a directory.
  std::vector<std::string> names(std::size_t most) const;
  // Empty: it is no report.  nullopt: it cannot be read now.
  std::optional<std::string> read(const std::string& name) const;
  // Returns whether it is gone.
  bool remove(const std::string& name) const;
  // Call it once it reads.  Returns the files that the reader before had in hand, if it was killed: it has not called
  // note_end().
  std::set<std::string> note_begin();
  // What it reads or sends from now on.
  void note_in_hand(const std::set<std::string>& names) const;
  void note_end() const;
  // Notes that a reader was killed while it had this report.  Returns its new name; nullopt: so many were killed that
  // this report may be the reason, and it was removed.
  std::optional<std::string> note_killed_reader(const std::string& name) const;

 private:
  const std::string path_;
  UniqueFd directory_, news_, in_hand_;
};

}  // namespace brood
