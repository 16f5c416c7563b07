#pragma once

#include <chrono>
#include <string>

namespace brood {

// The pause that a server asks for in a Retry-After header, `most` at most.  Reads seconds; ignores a date, since the
// clocks may differ.
std::chrono::milliseconds read_retry_after(const std::string& text, std::chrono::milliseconds most);

// The pause after so many failures in a row; `chance` is any number from 0 to 1.
std::chrono::milliseconds backoff(int failures, double chance);

}  // namespace brood
