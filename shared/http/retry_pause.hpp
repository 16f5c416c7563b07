#pragma once

#include <chrono>
#include <string>

namespace brood {

// The pause that a server asks for in a Retry-After header, at most `most`.  Reads only seconds: a date returns 0,
// since the clocks may differ.
std::chrono::milliseconds read_retry_after(const std::string& text, std::chrono::milliseconds most);

// The pause after `failures` failures in a row; `chance` is a random number from 0 to 1.
std::chrono::milliseconds backoff(int failures, double chance);

}  // namespace brood
