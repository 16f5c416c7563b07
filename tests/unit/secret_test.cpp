#include "shared/base/secret.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <string>

using namespace brood;

#if defined(__x86_64__)
namespace {

constexpr char secret[65] = "correct-horse-battery-staple-correct-horse-battery-staple-corre!";

// The content of all registers, one after the other.
char held[32][64];

#define BROOD_LOW(with)                                                                                               \
  with(0) with(1) with(2) with(3) with(4) with(5) with(6) with(7) with(8) with(9) with(10) with(11) with(12) with(13) \
      with(14) with(15)
#define BROOD_HIGH(with)                                                                                               \
  with(16) with(17) with(18) with(19) with(20) with(21) with(22) with(23) with(24) with(25) with(26) with(27) with(28) \
      with(29) with(30) with(31)
#define BROOD_FILL_LOW(n) asm volatile("movdqu %0, %%xmm" #n ::"m"(secret) : "xmm" #n);
#define BROOD_READ_LOW(n) asm volatile("movdqu %%xmm" #n ", %0" : "=m"(held[n]));
#define BROOD_FILL_HIGH(n) asm volatile("vmovdqu64 %0, %%zmm" #n ::"m"(secret));
#define BROOD_READ_HIGH(n) asm volatile("vmovdqu64 %%zmm" #n ", %0" : "=m"(held[n]));

// In how many registers the secret is, after `between`.
template <class Between>
int registers_with_it_after(Between between) {
  std::memset(held, 0, sizeof held);
  const bool has_high = __builtin_cpu_supports("avx512f");
  if (has_high) {
    BROOD_HIGH(BROOD_FILL_HIGH)
  }
  BROOD_LOW(BROOD_FILL_LOW)
  between();
  BROOD_LOW(BROOD_READ_LOW)
  if (has_high) {
    BROOD_HIGH(BROOD_READ_HIGH)
  }
  int found = 0;
  for (const auto& one : held) found += std::memcmp(one, secret, 16) == 0;
  return found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_a_secret_went_through_holds_it_no_longer) {
  BOOST_TEST(registers_with_it_after([] {}) == (__builtin_cpu_supports("avx512f") ? 32 : 16));
  BOOST_TEST(registers_with_it_after([] { forget_registers(); }) == 0);
}

BOOST_AUTO_TEST_CASE(a_wiped_text_is_in_no_register_either) {
  std::string text = "short";
  BOOST_TEST(registers_with_it_after([&] { wipe(text); }) == 0);
}
#endif

BOOST_AUTO_TEST_CASE(a_wiped_text_is_empty_and_its_memory_too) {
  std::string text = "correct-horse-battery-staple-that-is-long-enough";
  text.reserve(200);
  const char* const memory = text.data();
  text.resize(7);  // what stood behind its end is there still
  wipe(text);
  BOOST_TEST(text.empty());
  BOOST_TEST(text.data() == memory);
  BOOST_TEST(std::string(memory, 48) == std::string(48, '\0'));
}
