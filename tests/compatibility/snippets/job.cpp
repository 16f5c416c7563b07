#include <brood/job.hpp>

// SNIPPET
