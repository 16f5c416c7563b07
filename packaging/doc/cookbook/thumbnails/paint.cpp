#include "paint.hpp"

#include <cstddef>
#include <cstdint>

#include "picture.hpp"

void Paint::perform() {
  if (width < 1 || height < 1) throw brood::ArgumentError("a picture without a pixel");
  Picture colours{.width = static_cast<std::size_t>(width), .height = static_cast<std::size_t>(height)};
  for (std::size_t y = 0; y < colours.height; ++y) {
    for (std::size_t x = 0; x < colours.width; ++x) {
      std::uint8_t* pixel = colours.at(x, y);
      pixel[0] = static_cast<std::uint8_t>(x * 255 / colours.width);
      pixel[1] = static_cast<std::uint8_t>(y * 255 / colours.height);
      pixel[2] = 128;
      pixel[3] = 255;
    }
  }
  write_png(colours, picture);
}
