// Places in a stack for symboliser_test to name.

extern "C" [[gnu::noinline, gnu::visibility("default")]] void* return_address() { return __builtin_return_address(0); }

namespace pixels {

struct Image {
  int width;
};

namespace {
[[gnu::always_inline]] inline void* innermost(volatile int* width) {
  void* place = return_address();  // line 13
  *width = 1;                      // so that the call above is no jump
  return place;
}
}  // namespace

struct Decoder {
  [[gnu::always_inline]] void* row(volatile int* width) {
    return innermost(width);  // line 21
  }
};

[[gnu::noinline]] static void* decode(const Image& image) {
  volatile int width = image.width;
  return Decoder().row(&width);  // line 27
}

}  // namespace pixels

extern "C" [[gnu::visibility("default")]] void* place_in_decode() { return pixels::decode({.width = 3}); }
