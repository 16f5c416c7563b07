#pragma once

#include <functional>
#include <optional>
#include <string>

#include "shared/base/unique_fd.hpp"
#include "shared/redis/address.hpp"
#include "shared/redis/find_server.hpp"
#include "supervisor/process/children.hpp"

namespace brood {

// The result of a search.
struct ServerSearch {
  std::optional<FoundServer> found;  // its address is numeric
  std::string why = {};              // why there is none
  enum class Reason {
    away,          // no answer at the moment, or no server is the master
    refused,       // sentinels or the server refuse us, or do not know the master's name
    host_unknown,  // no address is known for the host name
  } reason = Reason::away;
};

// Finds the server in a short-lived child that resolves host names and asks sentinels, since the loop must not wait.
class ServerFinder {
 public:
  using Done = std::function<void(ServerSearch)>;

  explicit ServerFinder(Children& children) : children_(children) {}

  // Whether connecting to `address` takes a search first.
  static bool has_to_find(const RedisAddress& address) { return address.needs_resolving() || address.must_be_found(); }

  // Begins to search, unless a search is under way; `done` is called within ten seconds.  Throws std::system_error if
  // it cannot fork.
  void find(const RedisAddress& address, Done done);

 private:
  void ended(const RedisAddress& address);

  Children& children_;
  UniqueFd answers_;
  Done done_;
  Child child_;
};

// Writes and reads the child's result.  Pure.
std::string search_text(const ServerSearch& search);
ServerSearch read_search(const RedisAddress& address, const std::string& text);

}  // namespace brood
