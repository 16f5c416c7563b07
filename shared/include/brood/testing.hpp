#pragma once

// Tests of jobs, and of programs that enqueue them, with any test framework: these headers assert nothing.  A test
// links `brood::testing` and chooses one of these:
//
//   Fake         pushes are collected, to be inspected and performed; no Redis
//   Inline       each push performs its job at once; no Redis
//   Supervised   a whole `brood run` with a Redis of its own
#include <brood/testing/fake.hpp>
#include <brood/testing/inline.hpp>
#include <brood/testing/jobs.hpp>
#include <brood/testing/supervised.hpp>
