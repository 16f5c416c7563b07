#include "shared/store/worker_field.hpp"

#include <charconv>

namespace brood {

std::string worker_field(int slot, std::uint64_t incarnation) {
  return std::to_string(slot) + "." + std::to_string(incarnation);
}

std::optional<WorkerField> parse_worker_field(std::string_view field) {
  WorkerField parsed;
  const char* const end = field.data() + field.size();
  const auto slot = std::from_chars(field.data(), end, parsed.slot);
  if (slot.ec != std::errc() || slot.ptr == end || *slot.ptr != '.') return std::nullopt;
  const auto incarnation = std::from_chars(slot.ptr + 1, end, parsed.incarnation);
  if (incarnation.ec != std::errc() || incarnation.ptr != end) return std::nullopt;
  return parsed;
}

}  // namespace brood
