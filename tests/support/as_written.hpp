#pragma once

// For a function whose crash a test looks at.  It stays a separate function in the stack, is not optimised for its
// callers, and no sanitizer reports its fault before the processor does.
#if defined(__clang__)
#define BROOD_AS_WRITTEN __attribute__((noinline, optnone, no_sanitize("address", "undefined")))
#else
#define BROOD_AS_WRITTEN __attribute__((noipa, no_sanitize("address", "undefined")))
#endif
