#include <brood/api.hpp>

int main() {
  // SNIPPET
}
