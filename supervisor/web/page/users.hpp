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

// The users who may log in, read from lines "NAME ROLE SECRET".  SECRET is a password as crypt(3) hashes it ($6$..., as
// `openssl passwd -6` prints it), a token as sha256:HEX, or - for a user whom a proxy names.  ROLE is read, operate or
// admin.
class Users {
 public:
  struct User {
    std::string name;
    Role role = Role::read;
  };
  // Throws std::runtime_error, which names the line, for any other line.
  static Users parse(const std::string& text);
  // Also throws if users other than its owner may write the file.
  static Users read(const std::string& path);

  bool empty() const { return lines_.empty(); }
  // Finds a user by name and password.  Remembers a right password for a minute, since hashing takes time.  An unknown
  // name takes as long as a known one.
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
  std::shared_ptr<Known> known_;  // recent right passwords
};

// The file of users.  It is read again when it has changed, so that a removed user is locked out.
class UsersFile {
 public:
  explicit UsersFile(std::string path) : path_(std::move(path)) {}

  // Returns nullopt if the file has not changed since the last call.  If it cannot be used, throws std::runtime_error
  // once per change; the caller then keeps the previous users.
  std::optional<Users> read_if_changed();

 private:
  const std::string path_;
  struct stat read_ {};  // at the last reading; zeros: it was missing
  bool was_read_ = false;
};

}  // namespace brood
