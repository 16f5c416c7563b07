#pragma once

#include <string>
#include <string_view>

namespace brood {

// One JSON value as Ruby's JSON library writes what it has read: without white space, strings with as few escapes as
// can be, floats with as few digits, of a key given twice the last value.  `SortedEntry#reschedule` of Sidekiq finds a
// member by this spelling alone, and makes a second one of any other.
//
// A number keeps its value: one with more digits than Ruby's Float holds keeps its text too.  Throws
// detail::BadJson for what is no JSON, or lies deeper than 100 levels; `depth` says how deep the value itself lies.
std::string ruby_spelling(std::string_view json, int depth = 0);

}  // namespace brood
