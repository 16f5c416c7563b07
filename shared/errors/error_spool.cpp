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
#include <queue>
#include <sstream>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/clock.hpp"
#include "shared/scoreboard/scoreboard.hpp"

namespace brood {
namespace {

constexpr time_t unfinished_for = 60;  // seconds after which the writer of an unfinished file must have been killed
constexpr char killed_mark = '~';      // in a file's name: one for each reader that was killed with it in hand
constexpr std::ptrdiff_t most_killed = 5;
constexpr const char* reading = ".reading";  // exists while a reader runs: the names of the files in hand, a line each
constexpr std::size_t longest_in_hand = 65'536, most_removed_at_once = 2'000;

template <typename Take>
void each_entry(int directory, Take take) {
  const int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return;
  DIR* const opened = fdopendir(copy);
  if (opened == nullptr) {
    close(copy);
    return;
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opened, closedir);
  while (const dirent* const entry = readdir(entries.get())) {
    if (const std::string_view name = entry->d_name; name != "." && name != "..") take(*entry);
  }
}

// The type of an entry, such as S_IFREG; 0: it is gone.
mode_t kind_of(int directory, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return DTTOIF(entry.d_type);
  struct stat status {};
  return fstatat(directory, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_mode & S_IFMT : 0;
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

RemovedSpool remove_error_spool(const std::string& path) {
  RemovedSpool removed;
  const UniqueFd directory = open_directory(path);
  if (!directory) return removed;
  std::size_t entries = 0;
  each_entry(directory.get(), [&](const dirent& entry) {
    removed.goes_on = entries == most_removed_at_once;
    if (removed.goes_on) return;
    const bool is_gone = unlinkat(directory.get(), entry.d_name, 0) == 0 ||
                         (errno == EISDIR && unlinkat(directory.get(), entry.d_name, AT_REMOVEDIR) == 0);
    if (!is_gone) return;
    ++entries;
    if (entry.d_name[0] != '.') ++removed.reports;
  });
  rmdir(path.c_str());
  return removed;
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

// Writes the file under a name that readers ignore, and renames it once it is complete.
bool ErrorSpoolWriter::write_file(std::string_view report) {
  const std::string name = fmt::format("{:020}.{}.{}", wall_now().time_since_epoch().count(), getpid(), ++number_);
  const std::string fresh = path_ + "/." + name;
  const auto make = [&] { return open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600); };
  UniqueFd file(make());
  // After a restart that brings the first [on_error], workers may run before the reporter has made the directory.
  if (!file && errno == ENOENT && mkdir(path_.c_str(), 0700) == 0) file = UniqueFd(make());
  if (!file) return false;
  fchmod(file.get(), 0600);  // whatever umask the job has set
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

bool ErrorSpoolReader::is_in_place() const {
  struct stat here {
  }, there{};
  return fstat(directory_.get(), &here) == 0 && lstat(path_.c_str(), &there) == 0 && here.st_dev == there.st_dev &&
         here.st_ino == there.st_ino;
}

bool ErrorSpoolReader::lock() { return flock(directory_.get(), LOCK_EX | LOCK_NB) == 0; }

std::set<std::string> ErrorSpoolReader::note_begin() {
  in_hand_ = UniqueFd(
      openat(directory_.get(), reading, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600));
  std::string text(longest_in_hand, '\0');
  const ssize_t size = in_hand_ ? pread(in_hand_.get(), text.data(), text.size(), 0) : 0;
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  std::set<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) names.insert(line);
  note_in_hand({});
  return names;
}

// If the reader is killed between the two calls, more files are noted than it had in hand.
void ErrorSpoolReader::note_in_hand(const std::set<std::string>& names) const {
  if (!in_hand_) return;
  const std::string text = fmt::format("{}", fmt::join(names, "\n"));
  const ssize_t written = pwrite(in_hand_.get(), text.data(), text.size(), 0);
  if (ftruncate(in_hand_.get(), std::max<ssize_t>(written, 0)) != 0) return;
}

void ErrorSpoolReader::note_end() const { remove(reading); }

void ErrorSpoolReader::hear_news() const {
  char events[4'096];
  while (news_ && ::read(news_.get(), events, sizeof events) > 0) {
  }
}

std::vector<std::string> ErrorSpoolReader::names(std::size_t most) const {
  std::priority_queue<std::string> oldest;  // the newest of them first
  each_entry(directory_.get(), [&](const dirent& entry) {
    const std::string_view name = entry.d_name;
    if (name.starts_with('.')) {
      struct stat status {};
      const bool is_old = name != reading &&
                          fstatat(directory_.get(), entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                          status.st_mtime + unfinished_for < time(nullptr);
      if (is_old) unlinkat(directory_.get(), entry.d_name, 0);
      return;
    }
    const mode_t kind = kind_of(directory_.get(), entry);
    if (kind != S_IFREG) {
      if (kind != S_IFDIR) unlinkat(directory_.get(), entry.d_name, 0);
      return;
    }
    if (oldest.size() == most && (most == 0 || oldest.top() <= name)) return;
    if (oldest.size() == most) oldest.pop();
    oldest.emplace(name);
  });
  std::vector<std::string> names(oldest.size());
  for (auto name = names.rbegin(); name != names.rend(); ++name, oldest.pop()) *name = oldest.top();
  return names;
}

std::optional<std::string> ErrorSpoolReader::read(const std::string& name) const {
  const UniqueFd file(
      openat(directory_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  const bool will_never_be_read = errno == ELOOP || errno == ENXIO || errno == ENOENT;
  if (!file) return will_never_be_read ? std::optional<std::string>("") : std::nullopt;
  struct stat status {};
  const bool is_report = fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                         status.st_size <= static_cast<off_t>(longest_error_report);
  std::string text(is_report ? static_cast<std::size_t>(status.st_size) : 0, '\0');
  if (::read(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) text.clear();
  return text;
}

bool ErrorSpoolReader::remove(const std::string& name) const {
  return unlinkat(directory_.get(), name.c_str(), 0) == 0 || errno == ENOENT;
}

std::optional<std::string> ErrorSpoolReader::note_killed_reader(const std::string& name) const {
  if (std::count(name.begin(), name.end(), killed_mark) < most_killed) {
    std::string marked = name + killed_mark;
    if (renameat(directory_.get(), name.c_str(), directory_.get(), marked.c_str()) == 0) return marked;
  }
  remove(name);
  return std::nullopt;
}

}  // namespace brood
