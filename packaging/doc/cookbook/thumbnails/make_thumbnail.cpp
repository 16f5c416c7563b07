#include "make_thumbnail.hpp"

#include <filesystem>

#include "picture.hpp"

void MakeThumbnail::perform(brood::Context& job) {
  const int wanted = width.value_or(160);
  if (wanted < 1) throw brood::ArgumentError("a width of " + std::to_string(wanted));
  const Picture small = shrink(read_png(picture), static_cast<std::size_t>(wanted));

  // No reader sees half a picture, and a second run leaves the same result.
  const std::string partial = thumbnail + "." + std::string(job.jid());
  write_png(small, partial);
  std::filesystem::rename(partial, thumbnail);
  job.log(thumbnail + " is " + std::to_string(small.width) + " x " + std::to_string(small.height));
}
