#pragma once

#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>

#include "shared/base/paths.hpp"
#include "shared/base/secret.hpp"
#include "shared/config/encryption_settings.hpp"

namespace brood {

inline constexpr std::size_t encryption_key_size = 32;
inline constexpr int latest_key_version = 1'000'000;

// A key file that cannot be read or holds no key.  what() names the file and the reason, and never its content.
class KeyError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The keys of a configuration by their versions, in memory that is left out of core files.
class KeyRing {
 public:
  KeyRing() = default;  // empty

  // Reads the files: 32 bytes, or their base64 in one line, readable by their owner and its group alone.  Throws
  // KeyError.
  static KeyRing read(const EncryptionSettings& settings, const Environment& environment = process_environment);

  bool empty() const { return keys_.empty(); }
  const Secret* find(int version) const;  // null: there is no such key
  int active() const { return active_; }  // the version that encrypts; 0: there is no key

 private:
  std::map<int, Secret> keys_;
  int active_ = 0;
};

}  // namespace brood
