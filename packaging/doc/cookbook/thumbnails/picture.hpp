#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// A picture in memory: rows of pixels, each of red, green, blue and alpha.
struct Picture {
  std::size_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels = std::vector<std::uint8_t>(width * height * 4);

  std::uint8_t* at(std::size_t x, std::size_t y) { return &pixels[(y * width + x) * 4]; }
  const std::uint8_t* at(std::size_t x, std::size_t y) const { return &pixels[(y * width + x) * 4]; }
};

// Throw std::runtime_error with libpng's own words.
Picture read_png(const std::string& path);
void write_png(const Picture& picture, const std::string& path);

// Each pixel is the mean of those that it stands for.
Picture shrink(const Picture& from, std::size_t width);
