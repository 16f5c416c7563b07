#pragma once

#include <sys/stat.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/web/page/role.hpp"

namespace brood {

// Who may come, read from lines "NAME ROLE SECRET": a password as crypt(3) hashes it ($6$..., as `openssl passwd -6`
// prints it), a token as sha256:HEX, or - for a user whom a proxy names.  ROLE is read, operate or admin.
class Users {
 public:
  struct User {
    std::string name;
    Role role = Role::read;
  };
  // A line that is none of these: std::runtime_error, which names it.
  static Users parse(const std::string& text);
  // Also for a file that others than its owner may write.
  static Users read(const std::string& path);

  bool empty() const { return lines_.empty(); }
  // By name and password; a right one is known for a minute, for a hash takes its time.  It takes as long for
  // a name that is not there.
  std::optional<User> by_password(const std::string& name, const std::string& password) const;
  std::optional<User> by_known_password(const std::string& name, const std::string& password) const;
  std::optional<User> by_token(std::string_view token) const;
  // The user whom the proxy names; never one with a secret.
  std::optional<User> by_name(std::string_view name) const;

 private:
  struct Line {
    User user;
    std::string secret;
  };
  std::vector<Line> lines_;
  struct Known;
  std::shared_ptr<Known> known_;  // what was right lately
};

// The file of users, read again when it has changed, so that a user who is removed from it is locked out.
class UsersFile {
 public:
  explicit UsersFile(std::string path) : path_(std::move(path)) {}

  // Returns nullopt if it has not changed since the last call.  Throws std::runtime_error, once for each change, if it
  // cannot be used; then what was read before stays in force.
  std::optional<Users> read_if_changed();

 private:
  const std::string path_;
  struct stat read_ {};  // as of the last time; zeros: it was not there
  bool was_read_ = false;
};

}  // namespace brood
