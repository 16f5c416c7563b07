#include "shared/config/config_error.hpp"

#include "shared/base/log_line.hpp"

namespace brood::setting {

void Place::refuse(const std::string& why) const { throw ConfigError(log::printable(name + ": " + why)); }

}  // namespace brood::setting
