// As shared/precompiled.hpp, for the job libraries of tests.
#pragma once

#include <brood/job.hpp>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
