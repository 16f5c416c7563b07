#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "supervisor/web/page/users.hpp"

namespace brood {

// The file of users, read again when it has changed: a user who is removed from it is out.
class UsersFile {
 public:
  explicit UsersFile(std::string path) : path_(std::move(path)) {}

  // Nullopt: it is as it was read last.  Throws std::runtime_error, once for each change, where it cannot be used: what
  // was read before goes on then.
  std::optional<Users> read_if_changed();

 private:
  const std::string path_;
  struct stat read_ {};  // as of the last time; zeros: it was not there
  bool was_read_ = false;
};

}  // namespace brood
