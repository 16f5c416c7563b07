#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brood/client.hpp>
#include <brood/middleware.hpp>

namespace brood {

// What surrounds the code of this thread, and goes with a job from the code that enqueues it to the code that performs
// it, through retries too: the current attributes of a Ruby application (`cattr`: tenant, user, request), its locale
// (`locale`), and a trace (`traceparent`, as W3C writes it).  Ruby's Sidekiq 7 and 8 read and write the same members.
//
//   brood::ambient::set("tenant", "42");
//   brood::Client{}.enqueue(ResizeImage{...});           // carries it: carry_context() is in every client's chain
//
//   void brood_setup(brood::Setup& setup) {              // in the job library, or in one with BROOD_MIDDLEWARE()
//     setup.server_middleware().add("context", brood::restore_context());
//   }
//   ... brood::ambient::get("tenant") ...                // in the job; jobs that it enqueues carry it on
//
// Where the worker tells a collector of its runs ([otlp]), traceparent() is the span of the run under way, on the
// thread that performs it and with no middleware at all: what the job pushes, and what it asks other services for, goes
// on from there.
//
// There is one for each thread of a process, whatever libraries ask.  Values are JSON texts; what Ruby's Active Job has
// wrapped (symbols, records, times) stays as it wrote it.
namespace ambient {

// An attribute's JSON text; nullopt: it is not set.
BROOD_API std::optional<std::string> get(std::string_view name);
// Sets an attribute: `name` as Ruby calls it, `json` one JSON value.  Throws std::invalid_argument for what is no JSON.
BROOD_API void set(std::string_view name, std::string_view json);
// An attribute is not set any more; nothing where it was not.
BROOD_API void unset(std::string_view name);
BROOD_API std::vector<std::pair<std::string, std::string>> attributes();  // in the order in which they were set

BROOD_API std::string locale();                          // empty: none
BROOD_API void set_locale(std::string_view name);        // "de", say; empty: none
BROOD_API std::string traceparent();                     // empty: none
BROOD_API void set_traceparent(std::string_view value);  // as W3C's Trace Context writes it, unchecked; empty: none

BROOD_API void clear();  // nothing is set any more

// Reads what a payload carries, in place of all that was set.  Attributes in another form than an object (Sidekiq 7) or
// pairs (8), and those of further classes (`cattr_1`, ...), have no names here, but are carried on.  Never throws for
// what the payload holds.
BROOD_API void restore(std::string_view payload);
// Adds to a push what is set here and the push does not have.
BROOD_API void carry(Push& push);

// Puts back at its end what was set at its beginning.
class BROOD_API Scope {
 public:
  Scope();
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  struct Before;
  std::unique_ptr<Before> before_;
};

}  // namespace ambient

// Client middleware: each push carries what is set on its thread and the push does not bring itself.  It is in
// Client::default_middleware() from the beginning, as "carry_context".
inline ClientMiddleware::Middleware carry_context() {
  return [](Push& push, const Next& next) {
    ambient::carry(push);
    next();
  };
}

// Server middleware: while a job runs, what its payload carries is set, and nothing else.
inline ServerMiddleware::Middleware restore_context() {
  return [](Run& run, const Next& next) {
    const ambient::Scope scope;
    ambient::restore(run.payload());
    next();
  };
}

}  // namespace brood
