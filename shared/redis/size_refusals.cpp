#include "shared/redis/size_refusals.hpp"

namespace brood {
namespace {

// A command that is sent again may contain another time, and so differ by some bytes.
constexpr std::size_t about_the_same = 100;

}  // namespace

bool refused_for_its_size(std::string_view error) {
  return error.find("Protocol error: invalid bulk length") != error.npos;
}

bool SizeRefusals::closed_upon(std::size_t bytes) {
  if (bytes <= bytes_always_taken) return false;
  const bool again = suspects() && bytes + about_the_same >= suspect_;
  suspect_ = again ? 0 : bytes;
  return again;
}

void SizeRefusals::answered(std::size_t bytes) {
  if (bytes >= suspect_) suspect_ = 0;
}

}  // namespace brood
