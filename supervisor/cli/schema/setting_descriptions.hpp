#pragma once

#include <map>
#include <string>
#include <string_view>

namespace brood {

// What the comments of etc/brood.toml say about its keys.  Pure.
class SettingDescriptions {
 public:
  explicit SettingDescriptions(std::string_view example);

  // The paragraph above the key in the section of that kind (see keys_of_section); empty: there is none.
  std::string of(const std::string& kind, const std::string& key) const;

 private:
  // By kind and key, with a dot between them.  A section that may have any name has "*" for it.
  std::map<std::string, std::string> texts_;
};

}  // namespace brood
