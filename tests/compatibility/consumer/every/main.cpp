#include <cstdio>
#include <exception>
#include <string_view>

#include "programs.hpp"

// every before|during REDIS_URL LEDGER: uses every call of brood's client and of its data API.
int main(int argc, char** argv) {
  if (argc != 4) return 64;
  try {
    if (std::string_view(argv[1]) == "before") {
      use_client(argv[2]);
      use_sets(argv[2]);
    } else {
      use_jobs(argv[2], argv[3]);
      use_batches(argv[2], argv[3]);
      use_processes(argv[2], argv[3]);
    }
  } catch (const std::exception& error) {
    std::puts(error.what());
    return 1;
  }
}
