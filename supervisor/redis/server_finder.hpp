#pragma once

#include <functional>
#include <optional>
#include <string>

#include "shared/base/unique_fd.hpp"
#include "shared/redis/address.hpp"
#include "shared/redis/find_server.hpp"
#include "supervisor/process/children.hpp"

namespace brood {

// What came of a search.
struct ServerSearch {
  std::optional<FoundServer> found;  // its numbers are known
  std::string why = {};              // there is none
  enum class Reason {
    away,          // nobody answers (now), or nobody is the master
    refused,       // sentinels or server refuse us, or do not know the master's name
    host_unknown,  // no address is known for a host's name
  } reason = Reason::away;
};

// Finds the server in a short-lived child: host names and sentinels are asked there, since the loop must not wait.
class ServerFinder {
 public:
  using Done = std::function<void(ServerSearch)>;

  explicit ServerFinder(Children& children) : children_(children) {}

  // Whether `address` takes a search before one can connect to it.
  static bool has_to_find(const RedisAddress& address) { return address.needs_resolving() || address.must_be_found(); }

  // Begins to search, unless a search is under way; `done` is called within ten seconds.  Throws std::system_error when
  // it cannot fork.
  void find(const RedisAddress& address, Done done);

 private:
  void ended(const RedisAddress& address);

  Children& children_;
  UniqueFd answers_;
  Done done_;
  Child child_;
};

// What the child says, and how it is read.  Pure.
std::string search_text(const ServerSearch& search);
ServerSearch read_search(const RedisAddress& address, const std::string& text);

}  // namespace brood
