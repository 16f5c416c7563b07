#include <brood/api.hpp>
#include <brood/client.hpp>
#include <cstdio>

#include "resize_image.hpp"

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  if (argc != 2) return 64;
  try {
    brood::Client client{argv[1]};
    std::puts(client.enqueue(ResizeImage{.path = "cat.png", .width = 320}).c_str());
    std::puts(client.enqueue_in(10min, ResizeImage{.path = "dog.png", .width = 160}).c_str());
    client.enqueue_at(std::chrono::system_clock::now() + 1h, ResizeImage{.path = "cow.png", .width = 80});
    client.enqueue_bulk(std::vector<ResizeImage>{{.path = "a.png"}, {.path = "b.png"}});
    client.enqueue(ResizeImage{.path = "cow.png"},
                   {.queue = "by_hand", .retry = false, .timeout = 1min, .tags = {"by hand"}});
    client.enqueue_bulk(std::vector<ResizeImage>{{.path = "c.png"}, {.path = "d.png"}}, {.spread = 1h});
    const auto later = std::chrono::system_clock::now() + 2h;
    if (!client.cancel(client.enqueue_at(later, ResizeImage{.path = "e.png"}), later)) return 1;
    client.buffer({.max_jobs = 100});
    client.push({.job_class = "Ruby::Job", .args = R"(["any", 1])"});

    brood::Api api{argv[1]};
    std::printf("%zu wait in images\n", api.queue("images").size());
    api.scheduled().scan("dog.png", [](const brood::SetEntry& entry) {
      std::printf("%s waits with %s\n", entry.display_class.c_str(), entry.args.c_str());
      return true;
    });
  } catch (const brood::RedisError& error) {
    std::puts(error.what());
    return 69;
  }
}
