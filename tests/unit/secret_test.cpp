#include "shared/base/secret.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <string>

using namespace brood;

#if defined(__x86_64__)
namespace {

constexpr char secret[65] = "correct-horse-battery-staple-correct-horse-battery-staple-corre!";

// What two of the registers hold, after `between`.
template <class Between>
std::string registers_after(Between between) {
  char low[16], high[64] = {};
  if (__builtin_cpu_supports("avx512f")) asm volatile("vmovdqu64 %0, %%zmm17" ::"m"(secret));
  asm volatile("movdqu %0, %%xmm3" ::"m"(secret) : "xmm3");
  between();
  asm volatile("movdqu %%xmm3, %0" : "=m"(low));
  if (__builtin_cpu_supports("avx512f")) asm volatile("vmovdqu64 %%zmm17, %0" : "=m"(high));
  return std::string(low, sizeof low) + std::string(high, sizeof high);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_a_secret_went_through_holds_it_no_longer) {
  BOOST_TEST(registers_after([] {}).starts_with("correct-horse-ba"));
  const std::string after = registers_after([] { forget_registers(); });
  BOOST_TEST(after.find("correct") == after.npos);
  BOOST_TEST(after == std::string(after.size(), '\0'));
}
#endif

BOOST_AUTO_TEST_CASE(a_wiped_text_is_empty_and_its_memory_too) {
  std::string text = "correct-horse-battery-staple-that-is-long-enough";
  text.reserve(200);
  const char* const memory = text.data();
  wipe(text);
  BOOST_TEST(text.empty());
  BOOST_TEST(text.data() == memory);
  BOOST_TEST(std::string(memory, 48) == std::string(48, '\0'));
}
