#pragma once

#include <map>
#include <string>
#include <string_view>

namespace brood {

// The descriptions of keys in the comments of etc/brood.toml.  Pure.
class SettingDescriptions {
 public:
  explicit SettingDescriptions(std::string_view example);

  // The paragraph above the key in a section of that kind (see keys_of_section); empty if there is none.
  std::string of(const std::string& kind, const std::string& key) const;

 private:
  // By kind and key, with a dot between them.  A freely chosen part of a section's name is "*".
  std::map<std::string, std::string> texts_;
};

}  // namespace brood
