#include <brood/job.hpp>

#include "count_words.hpp"

// The jobs of this library; further ones follow after a comma.
BROOD_JOBS(CountWords)
