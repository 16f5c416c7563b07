#include "shared/config/reading/encryption_section.hpp"

#include <algorithm>
#include <string>

#include "shared/base/plain_number.hpp"

namespace brood {
namespace {

using namespace setting;

constexpr int latest_version_of_keys = 1'000'000;

}  // namespace

void read_encryption(const ConfigSection& section, EncryptionSettings& encryption) {
  section.named_texts("keys", [&](const Place& at, const std::string& name, const std::string& path) {
    const bool is_number = !name.empty() && name.size() <= 7 && name.front() != '0' &&
                           std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    const int version = is_number ? leading_number<int>(name) : 0;
    if (version < 1 || version > latest_version_of_keys)
      at.refuse("a key's version is a number from 1 to 1,000,000, not \"" + name + "\"");
    encryption.keys[version] = {read_path_or_credential(at, path), at.name};
  });
  section.count("active", encryption.active, 1, latest_version_of_keys);
  if (section.has("active") && !encryption.keys.contains(encryption.active))
    section.where_is("active").refuse("names a version that is not among [encryption.keys]");
  section.boolean("require", encryption.require);
  section.boolean("core_files", encryption.core_files);
}

}  // namespace brood
