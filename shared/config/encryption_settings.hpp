#pragma once

#include <map>
#include <string>

namespace brood {

// The keys that encrypt the last argument of a job ([encryption]).
struct EncryptionSettings {
  struct KeyFile {
    std::string path;   // or "credential:NAME": see password_files.hpp
    std::string place;  // where it is configured, for errors
  };
  std::map<int, KeyFile> keys;  // by version
  int active = 0;               // the version that encrypts; 0: the highest
  bool require = true;          // whether a job in clear is refused if its class is declared encrypted
  bool core_files = false;      // whether a process that has decrypted an argument may leave a core file
};

}  // namespace brood
