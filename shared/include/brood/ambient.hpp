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

// The context of this thread's code.  It travels with a job from the code that enqueues the job to the code that
// performs it, through retries too.  It consists of the current attributes of a Ruby application (`cattr`: tenant,
// user, request), its locale (`locale`), and a trace (`traceparent`, as W3C writes it).  Ruby's Sidekiq 7 and 8 read
// and write the same members.
//
//   brood::ambient::set("tenant", "42");
//   brood::Client{}.enqueue(ResizeImage{...});           // has the context: every client's chain has carry_context()
//
//   void brood_setup(brood::Setup& setup) {              // in the job library, or in one with BROOD_MIDDLEWARE()
//     setup.server_middleware().add("context", brood::restore_context());
//   }
//   ... brood::ambient::get("tenant") ...                // in the job; jobs that it enqueues have the context too
//
// If the worker sends its runs to a collector ([otlp]), traceparent() is the span of the present run, on the thread
// that performs it.  That needs no middleware.  So pushes of the job, and its requests to other services, continue that
// trace.
//
// Each thread of a process has one context, which all libraries share.  Values are JSON texts.  A value that Ruby's
// Active Job has wrapped (a symbol, a record, a time) is kept as Active Job wrote it.
namespace ambient {

// Returns an attribute's JSON text; nullopt if it is not set.
BROOD_API std::optional<std::string> get(std::string_view name);
// Sets an attribute.  `name` is Ruby's name of it, `json` one JSON value.  Throws std::invalid_argument if `json` is
// not valid JSON.
BROOD_API void set(std::string_view name, std::string_view json);
// Removes an attribute, if it is set.
BROOD_API void unset(std::string_view name);
BROOD_API std::vector<std::pair<std::string, std::string>> attributes();  // in the order in which they were set

BROOD_API std::string locale();                          // empty: it is not set
BROOD_API void set_locale(std::string_view name);        // such as "de"; empty: removes it
BROOD_API std::string traceparent();                     // empty: it is not set
BROOD_API void set_traceparent(std::string_view value);  // as in W3C's Trace Context, not checked; empty: removes it

BROOD_API void clear();  // removes attributes, locale and trace

// Replaces the context by that of a payload.  Attributes in a form other than an object (Sidekiq 7) or pairs (Sidekiq
// 8), and those of further classes (`cattr_1`, ...), cannot be read by name, but further pushes carry them.  It never
// throws because of the payload.
BROOD_API void restore(std::string_view payload);
// Adds the context to a push, except for the members that the push has already.
BROOD_API void carry(Push& push);

// Keeps the context of the moment when it is made, and restores it when it is destroyed.
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

// Client middleware: each push carries the context of its thread, except for the members that the push has already.
// It is in Client::default_middleware() from the beginning, as "carry_context".
inline ClientMiddleware::Middleware carry_context() {
  return [](Push& push, const Next& next) {
    ambient::carry(push);
    next();
  };
}

// Server middleware: while a job runs, the thread has only the context of the job's payload.
inline ServerMiddleware::Middleware restore_context() {
  return [](Run& run, const Next& next) {
    const ambient::Scope scope;
    ambient::restore(run.payload());
    next();
  };
}

}  // namespace brood
