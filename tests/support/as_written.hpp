#pragma once

// A function whose crash a test looks at: it stays a function of its own in the stack, is not optimised by what it is
// called with, and no sanitizer reports its fault before the processor does.
#if defined(__clang__)
#define BROOD_AS_WRITTEN __attribute__((noinline, optnone, no_sanitize("address", "undefined")))
#else
#define BROOD_AS_WRITTEN __attribute__((noipa, no_sanitize("address", "undefined")))
#endif
