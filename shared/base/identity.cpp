#include "shared/base/identity.hpp"

#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "shared/base/check.hpp"
#include "shared/base/process_stat.hpp"

namespace brood {
namespace {

constexpr int schema = 1;

// Web pages of Sidekiq print these names raw, and our keys are cut at colons: anything else becomes '-'.
std::string sanitised(std::string text) {
  for (char& c : text) {
    const bool safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      std::string_view("_.@/-").find(c) != std::string_view::npos;
    if (!safe) c = '-';
  }
  if (text.size() > 64) text.resize(64);
  return text.empty() ? "localhost" : text;
}

std::string host_name() {
  if (const char* dyno = std::getenv("DYNO"); dyno && *dyno) return sanitised(dyno);
  std::array<char, 256> name{};
  check("gethostname", gethostname(name.data(), name.size() - 1));
  return sanitised(name.data());
}

std::string twelve_hex_digits() {
  std::array<unsigned char, 6> bytes{};
  check("getrandom", getrandom(bytes.data(), bytes.size(), 0));
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

std::string first_line_of(const char* path) {
  std::string line;
  std::getline(std::ifstream(path) >> std::ws, line);
  return line;
}

std::string pid_namespace_of_this_process() {
  std::array<char, 64> target{};
  const ssize_t length = readlink("/proc/self/ns/pid", target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : "";
}

// Reads the one shape that record() writes: an object of strings without escapes and whole numbers.  Anything else,
// whoever wrote it, is no record.
class FlatObject {
 public:
  explicit FlatObject(std::string_view text) : rest_(text) {}

  // Calls member(name, value) for each; false when the text is anything else.
  template <typename Member>
  bool read(Member member) {
    if (!take('{')) return false;
    do {
      const std::optional<std::string_view> name = string();
      if (!name || !take(':')) return false;
      const std::optional<std::string_view> value = peek() == '"' ? string() : digits();
      if (!value) return false;
      member(*name, *value);
    } while (take(','));
    return take('}') && peek() == '\0';
  }

 private:
  char peek() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
    return rest_.empty() ? '\0' : rest_.front();
  }
  bool take(char c) {
    if (peek() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::optional<std::string_view> string() {
    if (!take('"')) return std::nullopt;
    const std::size_t end = rest_.find('"');
    if (end == rest_.npos) return std::nullopt;
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    for (const char c : text) {
      if (c == '\\' || static_cast<unsigned char>(c) < 0x20) return std::nullopt;
    }
    return text;
  }
  std::optional<std::string_view> digits() {
    peek();
    const std::string_view text = rest_.substr(0, rest_.find_first_not_of("0123456789"));
    rest_.remove_prefix(text.size());
    return text.empty() ? std::nullopt : std::optional(text);
  }

  std::string_view rest_;
};

template <typename Number>
bool read_number(std::string_view text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

Identity Identity::of_this_process() {
  Identity self;
  self.hostname = host_name();
  self.pid = getpid();
  self.name = fmt::format("{}:{}:{}", self.hostname, self.pid, twelve_hex_digits());
  self.boot_id = first_line_of("/proc/sys/kernel/random/boot_id");
  self.pid_namespace = pid_namespace_of_this_process();
  self.start_time = process_start_time(self.pid);
  self.user = geteuid();
  return self;
}

std::string Identity::record() const {
  // A record holds no escapes: a directory of such a name is not told, and its heirs wait a minute longer.
  const bool tellable = std::none_of(runtime_directory.begin(), runtime_directory.end(), [](char c) {
    return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
  });
  return fmt::format(
      R"({{"host":"{}","boot_id":"{}","pid_namespace":"{}","pid":{},"start_time":{},{}"runtime_directory":"{}","schema":{}}})",
      hostname, boot_id, pid_namespace, pid, start_time, user ? fmt::format(R"("user":{},)", *user) : "",
      tellable ? runtime_directory : "", schema);
}

bool Identity::parse(const std::string& name, const std::string& record, Identity& out) {
  Identity identity;
  identity.name = name;
  bool understood = true, has_pid = false;
  int its_schema = 0;
  const bool whole = FlatObject(record).read([&](std::string_view member, std::string_view value) {
    if (member == "host") identity.hostname = value;
    if (member == "boot_id") identity.boot_id = value;
    if (member == "pid_namespace") identity.pid_namespace = value;
    if (member == "runtime_directory") identity.runtime_directory = value;
    if (member == "pid") understood = understood && (has_pid = read_number(value, identity.pid)) && identity.pid > 0;
    if (member == "start_time") understood = understood && read_number(value, identity.start_time);
    if (member == "user") understood = understood && read_number(value, identity.user.emplace());
    if (member == "schema") understood = understood && read_number(value, its_schema);
  });
  if (!whole || !understood || !has_pid || its_schema < schema) return false;
  out = std::move(identity);
  return true;
}

bool Identity::same_boot(const Identity& other) const {
  return !boot_id.empty() && boot_id == other.boot_id && !pid_namespace.empty() && pid_namespace == other.pid_namespace;
}

std::uint64_t process_start_time(pid_t pid) {
  if (pid <= 0) return 0;
  const auto stat = ProcessStat::read(pid);
  return stat && stat->state() != 'Z' && stat->state() != 'X' ? stat->start_time() : 0;
}

namespace {

bool is_hidden(pid_t pid, const std::optional<uid_t>& user) {
  if (access(fmt::format("/proc/{}/stat", pid).c_str(), R_OK) == 0) return false;
  HiddenProcess process;
  if (kill(pid, 0) != 0) process.error = errno;
  if (process.error == EPERM) {
    // The kernel opens a pidfd of any process; what a job may not signal it may not open either.
    const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    process.asking_is_refused = fd < 0 && errno == EPERM;
    if (fd >= 0) close(fd);
  }
  return may_be_hidden(process, user, geteuid());
}

bool lives(pid_t pid, std::uint64_t start_time, const std::optional<uid_t>& user) {
  if (start_time == 0 || pid <= 0) return false;
  return process_start_time(pid) == start_time || is_hidden(pid, user);
}

}  // namespace

bool may_be_hidden(const HiddenProcess& process, const std::optional<uid_t>& user, uid_t own_user) {
  if (process.error == 0) return true;
  if (process.error != EPERM) return false;
  return process.asking_is_refused || !user || *user != own_user;
}

bool process_lives(pid_t pid, std::uint64_t start_time) { return lives(pid, start_time, geteuid()); }

bool supervisor_lives(const Identity& identity) { return lives(identity.pid, identity.start_time, identity.user); }

bool pid_is_taken(pid_t pid) { return pid > 0 && (process_start_time(pid) != 0 || is_hidden(pid, geteuid())); }

}  // namespace brood
