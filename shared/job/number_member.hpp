#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

class Payload;

// A member of a payload where a number belongs.  Ruby's JSON writes Rails' 30.seconds as "30", in quotes: a string that
// holds one number as JSON spells it, and nothing else, counts as that number.  So "30", "30.5" and "1e1" are numbers,
// and "5m", " 30" and "" are none.

// The number's own text; nullopt if the member's JSON text is none.
std::optional<std::string_view> number_text(std::string_view json);
std::optional<double> number_of(std::string_view json);         // 1E400 is infinite, as in Ruby
std::optional<std::int64_t> integer_of(std::string_view json);  // when it is spelled as an integer and fits 64 bits

// Whether an option is a number of seconds: timeout, retry_for, expires_in, expiry, unique_for, keep_result.
bool is_seconds_option(std::string_view name);

// Why a push is refused for this value of such an option, as a sentence; empty if it is a number, or false or null,
// which leave the option unused.
std::string problem_of_seconds(std::string_view name, std::string_view json);

// The options of a job that have invalid values, each as "name=value".  They are ignored, so that no job is lost for a
// slip.
std::vector<std::string> ignored_options(const Payload& job);

}  // namespace brood
