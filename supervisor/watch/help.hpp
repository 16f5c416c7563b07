#pragma once

#include <string>
#include <vector>

namespace brood::watch {

const std::vector<std::string>& help_lines();

}  // namespace brood::watch
