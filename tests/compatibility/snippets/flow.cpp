#include <brood/flow.hpp>
#include <brood/job.hpp>

struct Split {
  int video = 0;
  void perform() const {}
};

struct Encode {
  int video = 0, lines = 0;
  void perform() const {}
};

struct Merge {
  int video = 0;
  void perform() const {}
};

struct Publish {
  int video = 0;
  void perform() const {}
};

void push_flow() {
  // SNIPPET
}
