#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace brood {

// "1,204,000".
std::string grouped(std::uint64_t number);

// "1 job", "1,204 jobs".
std::string counted(std::uint64_t number, std::string_view one, std::string_view many);

// "there is 1 job", "there are 1,204 jobs".
std::string there_are(std::uint64_t number, std::string_view one, std::string_view many);

}  // namespace brood
