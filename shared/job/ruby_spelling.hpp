#pragma once

#include <string>
#include <string_view>

namespace brood {

// One JSON value as Ruby's JSON library writes what it has read: no white space, as few escapes and as few digits as
// possible, and the last value of a key given twice.  Sidekiq's `SortedEntry#reschedule` finds a member only by this
// spelling, and makes a second one of any other.
//
// A number keeps its value: one with more digits than Ruby's Float holds keeps its text too.  Throws detail::BadJson
// for text that is not JSON, or deeper than 100 levels; `depth` is how deep the value itself lies.
std::string ruby_spelling(std::string_view json, int depth = 0);

}  // namespace brood
