#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "shared/base/secret.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/config/config.hpp"

namespace brood {

// The passwords that the addresses of Redis hold, each in a file of our user's own (0400), for clients in jobs: so they
// need not stand in an environment, which every program inherits and shows.  Gone with their owner; what owners that
// were killed have left is removed by the next one.
class PasswordFiles {
 public:
  // In `directory`, which is made if it is not there; existing ones of this process are replaced.  There is none for an
  // address without a password, and none where it is not to be shared or has a file already.  Throws AddressError, and
  // std::system_error.
  PasswordFiles(const RedisSettings& settings, const std::string& directory);
  ~PasswordFiles();  // in a forked child: nothing
  PasswordFiles(const PasswordFiles&) = delete;
  PasswordFiles& operator=(const PasswordFiles&) = delete;

  // Names them in settings with the same addresses: private_password_file.
  void name_in(RedisSettings& settings) const;

 private:
  struct File {
    std::string path;    // empty: there is none
    UniqueFd lock = {};  // as long as the owner lives
  };
  File write(const Secret& password, const std::string& name);
  void remove_those_of_the_dead() const;

  pid_t owner_;
  std::string directory_;
  std::vector<File> files_;  // of each shard, or of the only Redis
};

}  // namespace brood
