#pragma once

#include <map>
#include <string>

namespace brood {

// By which keys the last argument of a job is encrypted ([encryption]).
struct EncryptionSettings {
  struct KeyFile {
    std::string path;   // or "credential:NAME": see password_files.hpp
    std::string place;  // where it is configured, for errors
  };
  std::map<int, KeyFile> keys;  // by version
  int active = 0;               // by which is encrypted; 0: the highest
  bool require = true;          // whether a job in clear is refused if its class is declared encrypted
  bool core_files = false;      // whether a process that has decrypted one may leave a core file
};

}  // namespace brood
