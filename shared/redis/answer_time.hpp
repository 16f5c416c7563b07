#pragma once

#include <chrono>

namespace brood {

// How long the supervisor waits for an answer of Redis before it takes the connection for dead: when it asks for
// itself, and (the shorter) when somebody waits for the result.
constexpr std::chrono::seconds longest_answer_time{10};
constexpr std::chrono::seconds short_answer_time{5};

}  // namespace brood
