#pragma once

#include <cstddef>
#include <string_view>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/scan.hpp"

namespace brood {

// A set of names that may be long, and so is read in pages: read_scan() reads them.
class NamePages {
 public:
  static NamePages of_queues();
  static NamePages of_processes();  // Ruby's too, and those whose heartbeat has ended

  // A page, from about `count` names; the first begins at scan_begins.
  Command ask(std::string_view position, std::size_t count) const;
  Command ask_kind() const;  // of the key, which may hold anything

 private:
  explicit constexpr NamePages(FixedKey key) : key_(key) {}
  FixedKey key_;
};

bool read_is_set(ReplyView kind);

}  // namespace brood
