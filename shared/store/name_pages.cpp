#include "shared/store/name_pages.hpp"

#include <string>

#include "shared/store/keys.hpp"

namespace brood {

NamePages NamePages::of_queues() { return NamePages(keys::queues); }
NamePages NamePages::of_processes() { return NamePages(keys::processes); }

Command NamePages::ask(std::string_view position, std::size_t count) const {
  return {"SSCAN", key_, position, "COUNT", std::to_string(count)};
}
Command NamePages::ask_kind() const { return {"TYPE", key_}; }

bool read_is_set(ReplyView kind) { return kind.text() == "set"; }

}  // namespace brood
