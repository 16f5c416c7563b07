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

// The directory in which reports of failures wait for the reporter of a supervisor, beside the supervisor's scoreboard.
// Each report is a file, which stays until the report has been sent.  So a reporter that is killed loses none.  A
// report that several reporters were sending when they were killed is given up.
std::string error_spool_path(const std::string& runtime_directory, const std::string& identity);

// Makes the directory with mode 0700, if it is not there.  Throws std::system_error.
void make_error_spool(const std::string& path);
// Removes the files, and then the directory.  One call removes a bounded number, since jobs can make any number of
// files.
struct RemovedSpool {
  std::size_t reports = 0;  // that were removed by this call
  bool goes_on = false;     // there are more: call it again, later
};
RemovedSpool remove_error_spool(const std::string& path);

inline constexpr std::size_t longest_error_report = std::size_t{1} << 20;
inline constexpr std::size_t most_spooled_bytes = std::size_t{16} << 20;

// Writes reports, for workers.  Never waits: if the spool is full, the report is lost.
class ErrorSpoolWriter {
 public:
  // `counts` may be nullptr.
  ErrorSpoolWriter(std::string path, ErrorCounts* counts);

  // Returns false if the report is lost; then it is counted.
  bool write(std::string_view report);

 private:
  bool write_file(std::string_view report);

  const std::string path_;
  ErrorCounts* const counts_;
  unsigned number_ = 0;
};

// Reads reports, for the one reporter of a supervisor.  Jobs can write to the spool too, so it trusts no file.
class ErrorSpoolReader {
 public:
  // Throws std::system_error.
  explicit ErrorSpoolReader(std::string path);

  // Whether the directory that it has opened is still the one at the path.
  bool is_in_place() const;

  // Makes this the only reader.  Returns false if another process reads now.
  bool lock();
  // A descriptor to poll: readable when a report has come.  -1: the kernel gave none, so look now and then.
  int news() const { return news_.get(); }
  // Empties that descriptor.
  void hear_news() const;

  // The names of the oldest files, the oldest first, at most `most`.  Removes the unfinished files of writers that were
  // killed, and entries that are neither a file nor a directory.
  std::vector<std::string> names(std::size_t most) const;
  // The text of a file.  Empty: it is no report.  nullopt: it cannot be read now.
  std::optional<std::string> read(const std::string& name) const;
  // Returns whether the file is gone.
  bool remove(const std::string& name) const;
  // Call it after lock().  Returns the files that the reader before had in hand if it was killed, which is so if it has
  // not called note_end().
  std::set<std::string> note_begin();
  // Notes the files that are in hand from now on: those being read or sent.
  void note_in_hand(const std::set<std::string>& names) const;
  // Call it before the reader exits.
  void note_end() const;
  // Notes that a reader was killed while it had this report in hand.  Returns the new name of the file.  nullopt: so
  // many readers were killed that the report may be the reason, so it was removed.
  std::optional<std::string> note_killed_reader(const std::string& name) const;

 private:
  const std::string path_;
  UniqueFd directory_, news_, in_hand_;
};

}  // namespace brood
