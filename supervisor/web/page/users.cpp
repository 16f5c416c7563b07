#include "supervisor/web/page/users.hpp"

#include <crypt.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "shared/base/check.hpp"
#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"
#include "supervisor/web/http/digest.hpp"

namespace brood {
namespace {

bool is_same_time(const timespec& one, const timespec& other) {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

bool is_same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino && one.st_size == other.st_size &&
         is_same_time(one.st_mtim, other.st_mtim) && is_same_time(one.st_ctim, other.st_ctim);
}

using namespace std::chrono_literals;

constexpr auto known_for = 60s;
constexpr std::size_t most_known = 1'000;
constexpr std::string_view token_mark = "sha256:";
constexpr const char* nobodys_hash = "$6$nobody$";

std::optional<Role> role_named(std::string_view name) {
  for (const Role role : {Role::read, Role::operate, Role::admin}) {
    if (name_of(role) == name) return role;
  }
  return std::nullopt;
}

bool is_digest(std::string_view digits) {
  return digits.size() == 64 && digits.find_first_not_of("0123456789abcdef") == digits.npos;
}

}  // namespace

std::string_view name_of(Role role) {
  switch (role) {
    case Role::read:
      return "read";
    case Role::operate:
      return "operate";
    case Role::admin:
      return "admin";
  }
  return "";
}

// Passwords that were right recently, as digests under a key of this process.
struct Users::Known {
  std::mutex mutex;
  std::string key = random_digits(32);
  std::map<std::string, SteadyTime> until;

  std::string digest(const std::string& name, const std::string& password, const std::string& secret) const {
    return hmac_digits(key, name + '\0' + password + '\0' + secret);
  }
};

Users Users::parse(const std::string& text) {
  Users users;
  users.known_ = std::make_shared<Known>();
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    std::string name, role, secret, more;
    words >> name >> role >> secret >> more;
    if (name.empty() || name.starts_with('#')) continue;
    const auto meant = role_named(role);
    const auto refuse = [&](std::string_view why) {
      throw std::runtime_error(fmt::format("line {}: {}", number, why));
    };
    if (!meant) refuse("the second word must be a role: read, operate or admin");
    if (secret.empty() || !more.empty()) refuse("a line must have three words: NAME ROLE SECRET");
    const bool is_token =
        secret.starts_with(token_mark) && is_digest(std::string_view(secret).substr(token_mark.size()));
    if (!is_token && secret != "-" && !secret.starts_with('$'))
      refuse(
          "the third word must be a hash such as `openssl passwd -6` prints, sha256: and 64 hexadecimal digits, or -");
    users.lines_.push_back({{name, *meant}, secret});
  }
  return users;
}

Users Users::read(const std::string& path) {
  struct stat about {};
  check(path.c_str(), stat(path.c_str(), &about));
  if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    throw std::runtime_error(path + " can be changed by others than its owner");
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + " cannot be read");
  if ((about.st_mode & S_IROTH) != 0)
    log::warn("web_users_are_readable", {{"path", path}, {"reason", "every user of the machine can read the hashes"}});
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    Users users = parse(text);
    if (users.empty()) throw std::runtime_error("it has no users");
    return users;
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("{}: {}", path, error.what()));
  }
}

std::optional<Users::User> Users::by_known_password(const std::string& name, const std::string& password) const {
  for (const Line& line : lines_) {
    if (line.user.name != name || !line.secret.starts_with('$')) continue;
    const std::lock_guard lock(known_->mutex);
    const auto found = known_->until.find(known_->digest(name, password, line.secret));
    if (found != known_->until.end() && found->second > steady_now()) return line.user;
  }
  return std::nullopt;
}

std::optional<Users::User> Users::by_password(const std::string& name, const std::string& password) const {
  if (password.find('\0') != password.npos) return std::nullopt;  // crypt would stop there
  if (auto known = by_known_password(name, password)) return known;
  bool has_hashed = false;
  for (const Line& line : lines_) {
    if (line.user.name != name || !line.secret.starts_with('$')) continue;
    crypt_data work{};
    const char* const hash = crypt_r(password.c_str(), line.secret.c_str(), &work);
    has_hashed = true;
    if (hash == nullptr || !are_same(hash, line.secret)) continue;
    const std::lock_guard lock(known_->mutex);
    if (known_->until.size() >= most_known) known_->until.clear();
    known_->until[known_->digest(name, password, line.secret)] = steady_now() + known_for;
    return line.user;
  }
  if (!has_hashed) {
    crypt_data work{};
    crypt_r(password.c_str(), nobodys_hash, &work);
  }
  return std::nullopt;
}

std::optional<Users::User> Users::by_token(std::string_view token) const {
  const std::string digest = std::string(token_mark) + sha256_digits(token);
  for (const Line& line : lines_) {
    if (are_same(line.secret, digest)) return line.user;
  }
  return std::nullopt;
}

std::optional<Users::User> Users::by_name(std::string_view name) const {
  for (const Line& line : lines_) {
    if (line.user.name == name && line.secret == "-") return line.user;
  }
  return std::nullopt;
}

std::optional<Users> UsersFile::read_if_changed() {
  struct stat now {};
  if (stat(path_.c_str(), &now) != 0) now = {};
  if (was_read_ && is_same_file(now, read_)) return std::nullopt;
  read_ = now;
  was_read_ = true;
  return Users::read(path_);
}

}  // namespace brood
