#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "shared/base/paths.hpp"
#include "shared/base/secret.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/config/config.hpp"
#include "shared/redis/tls_settings.hpp"

namespace brood {

// The passwords in the addresses of Redis, each in a file that only our user may read (0400), for clients in jobs.  So
// no password has to be in an environment, which every program inherits and shows.  The destructor removes the files.
// Those of a process that was killed are removed by the next one.
class PasswordFiles {
 public:
  // Writes the files into `directory`, which is made if it is not there, and replaces earlier ones of this process.
  // Writes none for an address without a password, or whose password must not be shared or has a file already.  Throws
  // AddressError and std::system_error.
  PasswordFiles(const RedisSettings& settings, const std::string& directory);
  ~PasswordFiles();  // removes the files; in a forked child it does nothing
  PasswordFiles(const PasswordFiles&) = delete;
  PasswordFiles& operator=(const PasswordFiles&) = delete;

  // Sets private_password_file in settings that have the same addresses, and perhaps more shards behind them.  Writes
  // files for these, and removes the files of earlier settings that were not kept.  Throws as the constructor does.
  void name_in(RedisSettings& settings);
  // Keeps the files for the shards of the last settings.
  void keep() { kept_ = files_.size(); }

 private:
  struct File {
    std::string path;    // empty: there is none
    UniqueFd lock = {};  // held as long as the owner lives
  };
  void add(const Secret& password);
  File write(const Secret& password, const std::string& name);
  void remove_those_of_the_dead() const;

  pid_t owner_;
  std::string directory_;
  std::vector<File> files_;  // of each shard, or of the only Redis
  std::size_t kept_ = 0;
};

// The file that a setting names: the path itself, or for "credential:redis" the file `redis` of the credentials that
// systemd has passed to this service ($CREDENTIALS_DIRECTORY).  In a program that is no service, such as `brood
// status`, the credentials are those of brood.service.
std::string credential_path(const std::string& path, const Environment& environment = process_environment);

// The same for the files of TLS settings.
TlsSettings with_paths(TlsSettings settings, const Environment& environment = process_environment);

inline bool names_credential(const std::string& path) { return path.starts_with("credential:"); }

}  // namespace brood
