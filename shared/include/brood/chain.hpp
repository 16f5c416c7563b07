#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// A chain of named middleware, around a push or around a run.  A program and libbrood.so.1 share its layout: a Next is
// two pointers, and a chain is one vector of entries.
#pragma GCC visibility push(hidden)
namespace brood {

// The rest of a chain: the next middleware, and at last the push or the job itself.  A middleware calls it to go on.
// If the middleware does not call it, the rest does not run.  The call throws an exception of the rest.  Each further
// call runs the rest again.  A Next is valid until the middleware returns.
class Next {
 public:
  void operator()() const { go_on_(rest_); }  // runs the rest; returns when it has succeeded

 private:
  template <typename Subject, typename Where>
  friend class Chain;
  Next(const void* rest, void (*go_on)(const void*)) : rest_(rest), go_on_(go_on) {}

  const void* rest_;
  void (*go_on_)(const void*);
};

// Middleware in order, the first outermost.  Each is called with the subject and the Next that it wraps.
//
//   chain.add("timing", [](brood::Run& run, const brood::Next& next) {
//     const Timer timer(run.job_class());
//     next();
//   });
//
// A chain has each name once: adding a name again removes the earlier entry, as in Sidekiq.  While a thread changes a
// chain, no other thread may use it.  A middleware may not change the chain in which it runs.
template <typename Subject, typename Where>
class Chain {
 public:
  // The type of entries: any function that returns nothing.
  using Middleware = std::function<void(Subject&, const Next&)>;

  // Adds a middleware at the end, so innermost.  `where` selects the subjects for which it is called: see InCapsules.
  // This and the next functions throw std::invalid_argument for an empty name or function.
  template <typename Function = Middleware>
  void add(std::string name, Function middleware, Where where = {}) {
    append(std::move(name), kept(std::move(middleware)), std::move(where));
  }
  // Adds a middleware at the beginning, so outermost.
  template <typename Function = Middleware>
  void prepend(std::string name, Function middleware, Where where = {}) {
    put_first(std::move(name), kept(std::move(middleware)), std::move(where));
  }
  // Adds a middleware directly around `other`.  Throws std::invalid_argument if the chain has no `other`.
  template <typename Function = Middleware>
  void insert_before(std::string_view other, std::string name, Function middleware, Where where = {}) {
    insert(other, 0, std::move(name), kept(std::move(middleware)), std::move(where));
  }
  // Adds a middleware directly inside of `other`.  Throws std::invalid_argument if the chain has no `other`.
  template <typename Function = Middleware>
  void insert_after(std::string_view other, std::string name, Function middleware, Where where = {}) {
    insert(other, 1, std::move(name), kept(std::move(middleware)), std::move(where));
  }

  bool remove(std::string_view name) {  // returns false if the chain does not have it
    return std::erase_if(entries_, [&](const Entry& entry) { return entry.name == name; }) > 0;
  }
  void clear() { entries_.clear(); }  // removes all entries, the predefined ones too

  bool exists(std::string_view name) const { return place_of(name) < entries_.size(); }  // whether the chain has it
  bool empty() const { return entries_.empty(); }                                        // whether the chain is empty
  std::vector<std::string> names() const {                                               // outermost first
    std::vector<std::string> names;
    for (const Entry& entry : entries_) names.push_back(entry.name);
    return names;
  }

  // Calls the chain, and `inside()` within it.  It throws their exceptions.  Only the client and the library call it.
  template <typename Inside>
  void run(Subject& subject, const Inside& inside) const {
    Rest<Inside>{this, 0, &subject, &inside}.go_on();
  }

 private:
  struct Entry {
    std::string name;
    Middleware middleware;
    Where where;
  };

  // The rest of the chain from entry number `place` on.
  template <typename Inside>
  struct Rest {
    const Chain* chain;
    std::size_t place;
    Subject* subject;
    const Inside* inside;

    void go_on() const {
      std::size_t at = place;
      while (at < chain->entries_.size() && !chain->entries_[at].where.takes_in(*subject)) ++at;
      if (at == chain->entries_.size()) return (*inside)();
      const Rest rest{chain, at + 1, subject, inside};
      chain->entries_[at].middleware(
          *subject, Next(&rest, [](const void* further) { static_cast<const Rest*>(further)->go_on(); }));
    }
  };

  // Checks that the function returns void: std::function would drop a result, and with it the work of a coroutine.
  template <typename Function>
  static Middleware kept(Function function) {
    if constexpr (std::is_invocable_v<Function&, Subject&, const Next&>)
      static_assert(std::is_void_v<std::invoke_result_t<Function&, Subject&, const Next&>>,
                    "brood: a middleware returns void: it goes on by next(), stops by not calling it, and fails by "
                    "throwing");
    return Middleware(std::move(function));
  }

  void append(std::string name, Middleware middleware, Where where) {
    check(name, middleware);
    remove(name);
    entries_.push_back({std::move(name), std::move(middleware), std::move(where)});
  }

  void put_first(std::string name, Middleware middleware, Where where) {
    check(name, middleware);
    remove(name);
    entries_.insert(entries_.begin(), {std::move(name), std::move(middleware), std::move(where)});
  }

  static void check(const std::string& name, const Middleware& middleware) {
    if (name.empty()) throw std::invalid_argument("a middleware has no name");
    if (!middleware) throw std::invalid_argument("middleware \"" + name + "\" is an empty function");
  }

  std::size_t place_of(std::string_view name) const {
    std::size_t place = 0;
    while (place < entries_.size() && entries_[place].name != name) ++place;
    return place;
  }

  void insert(std::string_view other, std::size_t behind, std::string name, Middleware middleware, Where where) {
    check(name, middleware);
    if (other == name || !exists(other)) {
      throw std::invalid_argument("middleware \"" + name + "\" is to be beside \"" + std::string(other) +
                                  "\", which is not there");
    }
    remove(name);
    const auto place = static_cast<std::ptrdiff_t>(place_of(other) + behind);
    entries_.insert(entries_.begin() + place, {std::move(name), std::move(middleware), std::move(where)});
  }

  std::vector<Entry> entries_;
};

}  // namespace brood
#pragma GCC visibility pop
