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

// In the supervisor.  Which generation has written this text; 0: none can be read.
std::uint32_t generation_of_registered_periodic(const std::string& text);
// Replaces what a generation has written that was taken back.  Empty: there is no file then.
void put_back_registered_periodic(const std::string& path, const std::string& text);

}  // namespace brood
