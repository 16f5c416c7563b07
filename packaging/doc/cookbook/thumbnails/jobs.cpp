#include <brood/job.hpp>

#include "make_thumbnail.hpp"
#include "paint.hpp"

BROOD_JOBS(MakeThumbnail, Paint)
