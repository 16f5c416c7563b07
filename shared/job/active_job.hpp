#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace brood {

// Whether this is a class in which Rails' Active Job wraps its jobs: the names of Sidekiq 6 to 8.
bool wraps_active_job(std::string_view job_class);

// An argument that has no counterpart in JSON; what() is one sentence, which names it.
class BadActiveJob : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// The arguments of an Active Job as its `perform` gets them, a JSON array.  `args` are those of the payload: one
// object, as ActiveJob::Base#serialize writes it (Rails 6 to 8).
//
//   a symbol, a BigDecimal, a Date, a class   a string
//   a Time, a DateTime, with a zone or not    seconds since the epoch, to the microsecond
//   a duration                                seconds
//   a record, by its GlobalID                 the string "gid://app/Model/id"
//   a hash, keyword arguments                 an object, with the names of symbols as keys
//
// Throws BadActiveJob for other objects, such as a Range or a type with a serializer of the application.
std::string active_job_arguments(std::string_view args);

}  // namespace brood
