#pragma once

#include <chrono>

namespace brood {

// How long the supervisor waits for an answer of Redis before it takes the connection for dead: where it asks by
// itself, and where somebody waits for what it says.
constexpr std::chrono::seconds longest_answer_time{10};
constexpr std::chrono::seconds short_answer_time{5};

}  // namespace brood
