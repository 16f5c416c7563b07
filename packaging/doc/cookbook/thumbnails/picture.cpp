#include "picture.hpp"

#include <png.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace {

// Frees what libpng holds, however the reading ends.
struct PngImage : png_image {
  PngImage() : png_image{} { version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(this); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
};

[[noreturn]] void fail(const std::string& path, const png_image& image) {
  throw std::runtime_error(path + ": " + static_cast<const char*>(image.message));
}

}  // namespace

Picture read_png(const std::string& path) {
  PngImage image;
  if (png_image_begin_read_from_file(&image, path.c_str()) == 0) fail(path, image);
  image.format = PNG_FORMAT_RGBA;
  Picture picture{.width = image.width, .height = image.height};
  if (png_image_finish_read(&image, nullptr, picture.pixels.data(), 0, nullptr) == 0) fail(path, image);
  return picture;
}

void write_png(const Picture& picture, const std::string& path) {
  PngImage image;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_RGBA;
  if (png_image_write_to_file(&image, path.c_str(), 0, picture.pixels.data(), 0, nullptr) == 0) fail(path, image);
}

Picture shrink(const Picture& from, std::size_t width) {
  width = std::clamp<std::size_t>(width, 1, from.width);
  const std::size_t height = std::max<std::size_t>(1, from.height * width / from.width);
  Picture to{.width = width, .height = height};
  for (std::size_t y = 0; y < height; ++y) {
    const std::size_t top = y * from.height / height, bottom = std::max(top + 1, (y + 1) * from.height / height);
    for (std::size_t x = 0; x < width; ++x) {
      const std::size_t left = x * from.width / width, right = std::max(left + 1, (x + 1) * from.width / width);
      std::array<std::size_t, 4> sums{};
      for (std::size_t v = top; v < bottom; ++v)
        for (std::size_t u = left; u < right; ++u)
          for (std::size_t channel = 0; channel < 4; ++channel) sums[channel] += from.at(u, v)[channel];
      for (std::size_t channel = 0; channel < 4; ++channel)
        to.at(x, y)[channel] = static_cast<std::uint8_t>(sums[channel] / ((bottom - top) * (right - left)));
    }
  }
  return to;
}
