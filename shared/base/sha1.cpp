#include "shared/base/sha1.hpp"

#include <array>
#include <bit>
#include <cstdint>

namespace brood {
namespace {

constexpr std::size_t block_bytes = 64, length_bytes = 8;

using State = std::array<std::uint32_t, 5>;

std::uint32_t word_at(const char* bytes) {
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word = word << 8 | static_cast<unsigned char>(bytes[i]);
  return word;
}

// FIPS 180-4, 6.1.2.
void add_block(State& state, const char* block) {
  std::array<std::uint32_t, 80> words{};
  for (std::size_t i = 0; i < 16; ++i) words[i] = word_at(block + 4 * i);
  for (std::size_t i = 16; i < 80; ++i)
    words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);

  auto [a, b, c, d, e] = state;
  for (std::size_t i = 0; i < 80; ++i) {
    std::uint32_t mixed = 0;
    if (i < 20)
      mixed = ((b & c) | (~b & d)) + 0x5a827999;
    else if (i < 40)
      mixed = (b ^ c ^ d) + 0x6ed9eba1;
    else if (i < 60)
      mixed = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    else
      mixed = (b ^ c ^ d) + 0xca62c1d6;
    const std::uint32_t next = std::rotl(a, 5) + mixed + e + words[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
}

}  // namespace

std::string sha1_hex(std::string_view text) {
  State state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  const std::uint64_t bits = std::uint64_t{text.size()} * 8;
  for (; text.size() >= block_bytes; text.remove_prefix(block_bytes)) add_block(state, text.data());

  std::string last(text);
  last += '\x80';
  while (last.size() % block_bytes != block_bytes - length_bytes) last += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) last += static_cast<char>(bits >> shift);
  for (std::size_t at = 0; at < last.size(); at += block_bytes) add_block(state, last.data() + at);

  std::string hex;
  for (const std::uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[word >> shift & 15];
  }
  return hex;
}

}  // namespace brood
