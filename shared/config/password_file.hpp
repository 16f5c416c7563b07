#pragma once

#include <sys/types.h>

#include <string>

#include "shared/config/config.hpp"

namespace brood {

// The password that the address of Redis holds, in a file of our user's own (0400), for clients in jobs: so it need not
// stand in an environment, which every program inherits and shows.  Gone with its owner; what owners that were killed
// have left is removed by the next one.
class PasswordFile {
 public:
  // In `directory`, which is made if it is not there; an existing one of this process is replaced.  Without a password,
  // or where it is not to be shared or has a file already, there is none.  Throws std::system_error.
  PasswordFile(const RedisSettings& settings, const std::string& directory);
  ~PasswordFile();  // in a forked child: nothing
  PasswordFile(const PasswordFile&) = delete;
  PasswordFile& operator=(const PasswordFile&) = delete;

  const std::string& path() const { return path_; }  // empty: there is none

 private:
  pid_t owner_;
  std::string path_;
};

}  // namespace brood
