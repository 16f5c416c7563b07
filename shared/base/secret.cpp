#include "shared/base/secret.hpp"

namespace brood {

// The C library copies by the widest registers of the processor, and leaves the copied bytes there.  They get into core
// files, and onto the stack when a signal arrives.
void forget_registers() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    // Safe to clear: the compiler uses these registers only if an option allows it, and calls do not preserve them.
#define BROOD_FORGET(number) asm volatile("vpxord %zmm" #number ", %zmm" #number ", %zmm" #number)
    BROOD_FORGET(16);
    BROOD_FORGET(17);
    BROOD_FORGET(18);
    BROOD_FORGET(19);
    BROOD_FORGET(20);
    BROOD_FORGET(21);
    BROOD_FORGET(22);
    BROOD_FORGET(23);
    BROOD_FORGET(24);
    BROOD_FORGET(25);
    BROOD_FORGET(26);
    BROOD_FORGET(27);
    BROOD_FORGET(28);
    BROOD_FORGET(29);
    BROOD_FORGET(30);
    BROOD_FORGET(31);
#undef BROOD_FORGET
  }
#define BROOD_CLOBBERED                                                                                               \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", \
      "xmm14", "xmm15"
  if (__builtin_cpu_supports("avx")) {
    asm volatile("vzeroall" ::: BROOD_CLOBBERED);
  } else {
    asm volatile(
        "pxor %%xmm0, %%xmm0\n pxor %%xmm1, %%xmm1\n pxor %%xmm2, %%xmm2\n pxor %%xmm3, %%xmm3\n"
        "pxor %%xmm4, %%xmm4\n pxor %%xmm5, %%xmm5\n pxor %%xmm6, %%xmm6\n pxor %%xmm7, %%xmm7\n"
        "pxor %%xmm8, %%xmm8\n pxor %%xmm9, %%xmm9\n pxor %%xmm10, %%xmm10\n pxor %%xmm11, %%xmm11\n"
        "pxor %%xmm12, %%xmm12\n pxor %%xmm13, %%xmm13\n pxor %%xmm14, %%xmm14\n pxor %%xmm15, %%xmm15\n" ::
            : BROOD_CLOBBERED);
  }
#undef BROOD_CLOBBERED
#endif
}

void wipe(std::string& text) {
  text.resize(text.capacity());
  explicit_bzero(text.data(), text.size());
  text.clear();
  forget_registers();
}

}  // namespace brood
