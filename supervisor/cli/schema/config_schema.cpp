#include "supervisor/cli/schema/config_schema.hpp"

#include <fmt/format.h>

#include "shared/config/config.hpp"
#include "shared/config/reading/root_section.hpp"
#include "supervisor/cli/schema/schema_section.hpp"
#include "supervisor/cli/schema/setting_descriptions.hpp"

namespace brood {

std::string config_schema(std::string_view example) {
  const SettingDescriptions descriptions(example);
  SchemaSection root("", descriptions);
  root.ask([](const ConfigSection& section) {
    Config config;
    config.capsules.push_back({.name = "default", .concurrency = 1});
    read_root(section, config);
  });
  return R"({"$schema":"http://json-schema.org/draft-07/schema#","title":"brood.toml",)" + root.json().substr(1);
}

}  // namespace brood
