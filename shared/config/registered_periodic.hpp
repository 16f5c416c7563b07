#pragma once

#include <cstdint>
#include <string>

namespace brood {

// What job libraries have registered as periodic, on its way from the workers, which load them, to the supervisor,
// which does not: a file beside the scoreboard, whose first line is the generation that wrote it, and then a line of
// JSON for each.
std::string registered_periodic_path(const std::string& runtime_directory, const std::string& identity);

// In a worker: leaves a file of a later generation alone.
void tell_registered_periodic(const std::string& path, std::uint32_t generation, const std::string& lines);

}  // namespace brood
