#include "shared/job/random_bytes.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace brood {

unsigned char RandomBytes::next() {
  if (at_ == size_) {
    size_ = size_ == 0 ? first_helping : bytes_.size();
    // getrandom(2) returns up to 256 bytes whole, even if a signal arrives.
    if (getrandom(bytes_.data(), size_, 0) != static_cast<ssize_t>(size_))
      throw std::system_error(errno, std::generic_category(), "getrandom");
    at_ = 0;
  }
  return bytes_[at_++];
}

std::string RandomBytes::jid() {
  std::string jid(24, '0');
  for (std::size_t i = 0; i < jid.size(); i += 2) {
    const unsigned char byte = next();
    jid[i] = "0123456789abcdef"[byte >> 4];
    jid[i + 1] = "0123456789abcdef"[byte & 15];
  }
  return jid;
}

double RandomBytes::fraction() {
  std::uint64_t bits = 0;
  for (int i = 0; i < 7; ++i) bits = bits << 8 | next();
  return static_cast<double>(bits >> 3) / static_cast<double>(std::uint64_t{1} << 53);
}

}  // namespace brood
