#include "shared/errors/error_spool.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/clock.hpp"
#include "shared/scoreboard/scoreboard.hpp"

namespace brood {
namespace {

constexpr time_t unfinished_for = 60;  // seconds after which the writer of a file has been killed
constexpr char killed_mark = '~';      // once for each reader that was killed while the file was there
constexpr std::ptrdiff_t most_killed = 5;
constexpr const char* reading = ".reading";  // there while a reader reads

template <typename Take>
void each_name(int directory, Take take) {
  const int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return;
  DIR* const opened = fdopendir(copy);
  if (opened == nullptr) {
    close(copy);
    return;
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opened, closedir);
  while (const dirent* const entry = readdir(entries.get())) {
    if (const std::string_view name = entry->d_name; name != "." && name != "..") take(std::string(name));
  }
}

UniqueFd open_directory(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

}  // namespace

std::string error_spool_path(const std::string& runtime_directory, const std::string& identity) {
  std::string path = scoreboard_path(runtime_directory, identity);
  return path.replace(path.rfind('.'), path.npos, ".errors");
}

void make_error_spool(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) check("mkdir", -1);
}

std::size_t remove_error_spool(const std::string& path) {
  std::size_t reports = 0;
  const UniqueFd directory = open_directory(path);
  if (!directory) return 0;
  each_name(directory.get(), [&](const std::string& name) {
    if (!name.starts_with('.')) ++reports;
    unlinkat(directory.get(), name.c_str(), 0);
  });
  rmdir(path.c_str());
  return reports;
}

ErrorSpoolWriter::ErrorSpoolWriter(std::string path, ErrorCounts* counts) : path_(std::move(path)), counts_(counts) {}

bool ErrorSpoolWriter::write(std::string_view report) {
  bool fits = report.size() <= longest_error_report;
  if (fits && counts_ != nullptr && counts_->waiting_bytes.fetch_add(report.size()) > most_spooled_bytes) {
    counts_->waiting_bytes.fetch_sub(report.size());
    fits = false;
  }
  const bool written = fits && write_file(report);
  if (counts_ != nullptr) (written ? counts_->written : counts_->unwritten).fetch_add(1, std::memory_order_relaxed);
  return written;
}

// Under a name that no reader looks at, until it is complete.
bool ErrorSpoolWriter::write_file(std::string_view report) {
  const std::string name = fmt::format("{:020}.{}.{}", wall_now().time_since_epoch().count(), getpid(), ++number_);
  const std::string fresh = path_ + "/." + name;
  const auto make = [&] { return open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600); };
  UniqueFd file(make());
  // After a restart with the first [on_error], workers may be there before the reporter.
  if (!file && errno == ENOENT && mkdir(path_.c_str(), 0700) == 0) file = UniqueFd(make());
  if (!file) return false;
  const bool written = ::write(file.get(), report.data(), report.size()) == static_cast<ssize_t>(report.size()) &&
                       rename(fresh.c_str(), (path_ + "/" + name).c_str()) == 0;
  if (!written) unlink(fresh.c_str());
  return written;
}

ErrorSpoolReader::ErrorSpoolReader(std::string path) : path_(std::move(path)), directory_(open_directory(path_)) {
  check("open of the reports of errors", directory_ ? 0 : -1);
  news_ = UniqueFd(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (news_ && inotify_add_watch(news_.get(), path_.c_str(), IN_MOVED_TO | IN_ONLYDIR) < 0) news_.reset();
}

bool ErrorSpoolReader::lock() { return flock(directory_.get(), LOCK_EX | LOCK_NB) == 0; }

bool ErrorSpoolReader::note_begin() const {
  const UniqueFd file(openat(directory_.get(), reading, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  return !file && errno == EEXIST;
}

void ErrorSpoolReader::note_end() const { remove(reading); }

void ErrorSpoolReader::hear_news() const {
  char events[4'096];
  while (news_ && ::read(news_.get(), events, sizeof events) > 0) {
  }
}

std::vector<std::string> ErrorSpoolReader::names(std::size_t most) const {
  std::vector<std::string> names;
  each_name(directory_.get(), [&](std::string name) {
    if (!name.starts_with('.')) {
      names.push_back(std::move(name));
      return;
    }
    struct stat status {};
    const bool is_old = name != reading && fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                        status.st_mtime + unfinished_for < time(nullptr);
    if (is_old) unlinkat(directory_.get(), name.c_str(), 0);
  });
  std::sort(names.begin(), names.end());
  if (names.size() > most) names.resize(most);
  return names;
}

std::optional<std::string> ErrorSpoolReader::read(const std::string& name) const {
  const UniqueFd file(
      openat(directory_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  const bool is_report = file && fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                         status.st_size <= static_cast<off_t>(longest_error_report);
  std::string text(is_report ? static_cast<std::size_t>(status.st_size) : 0, '\0');
  if (is_report && ::read(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) return text;
  remove(name);
  return std::nullopt;
}

void ErrorSpoolReader::remove(const std::string& name) const { unlinkat(directory_.get(), name.c_str(), 0); }

std::optional<std::string> ErrorSpoolReader::note_killed_reader(const std::string& name) const {
  if (std::count(name.begin(), name.end(), killed_mark) < most_killed) {
    std::string marked = name + killed_mark;
    if (renameat(directory_.get(), name.c_str(), directory_.get(), marked.c_str()) == 0) return marked;
  }
  remove(name);
  return std::nullopt;
}

}  // namespace brood
