#include "shared/store/name_list.hpp"

namespace brood {

std::vector<std::string> read_name_list(ReplyView reply) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < reply.size(); ++i) names.emplace_back(reply[i].text());
  return names;
}

std::optional<std::vector<std::string>> read_name_list_if_told(ReplyView reply) {
  if (!reply.is_array()) return std::nullopt;
  return read_name_list(reply);
}

}  // namespace brood
