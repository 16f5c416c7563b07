#include <brood/job.hpp>

#include "resize_image.hpp"

void ResizeImage::perform(brood::Context& job) { job.log("resizing " + path); }

BROOD_JOBS(ResizeImage)
