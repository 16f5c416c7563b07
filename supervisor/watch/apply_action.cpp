#include "supervisor/watch/apply_action.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/watch/panes.hpp"

namespace brood::watch {
namespace {

using Kind = Action::Kind;

constexpr std::size_t shown_of_an_id = 8;

bool reads_lines(const View& view) { return view.help || view.detail; }

void close(View& view) {
  if (view.filter_before) {
    view.choice().filter = *view.filter_before;
    view.filter_before.reset();
  } else if (view.help) {
    view.help = false;
  } else if (view.detail) {
    view.detail.reset();
  } else {
    view.choice().filter.clear();
  }
}

void choose(View& view, const Listing& listing, std::size_t position) {
  if (listing.rows.empty()) return;
  view.choice().position = std::min(position, listing.rows.size() - 1);
  view.choice().row = listing.rows[view.choice().position].key;
}

// `lines` may lead beyond either end.
void move(View& view, const ViewContext& context, std::ptrdiff_t lines) {
  const auto moved = [lines](std::size_t from, std::size_t last) {
    const std::ptrdiff_t to = static_cast<std::ptrdiff_t>(from) + lines;
    return static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(to, 0, static_cast<std::ptrdiff_t>(last)));
  };
  if (reads_lines(view)) {
    std::size_t& top = view.help ? view.help_top : view.detail->top;
    const std::size_t last = context.lines - std::min(context.lines, context.page);
    top = moved(std::min(top, last), last);
  } else if (!context.listing.rows.empty()) {
    choose(view, context.listing, moved(position_of(context.listing, view.choice()), context.listing.rows.size() - 1));
  }
}

std::string chosen_row(const View& view, const Listing& listing) {
  if (listing.rows.empty()) return "";
  return listing.rows[position_of(listing, view.choice())].key;
}

// The worker that the detail shows, else the one in the chosen row.
const WorkerStatus* chosen_worker(const View& view, const ViewContext& context) {
  if (view.pane != Pane::workers) return nullptr;
  if (view.detail) return view.detail->row ? worker_of(context.model, *view.detail->row) : nullptr;
  return worker_of(context.model, chosen_row(view, context.listing));
}

void propose_kill(View& view, const ViewContext& context) {
  const WorkerStatus* const worker = chosen_worker(view, context);
  if (!worker || worker->state != "busy" || worker->jid.empty()) {
    view.notice = "K ends the job of a busy worker: choose one in the pane Workers";
    return;
  }
  const std::string what = fmt::format("End {} {} of worker {}?", worker->job_class, worker->jid, worker->slot);
  view.proposal = Proposal{
      .questions = {what + " It will be retried. y/n", what + " y/n",
                    fmt::format("End {}... of worker {}? y/n", worker->jid.substr(0, shown_of_an_id), worker->slot),
                    fmt::format("End the job of worker {}? y/n", worker->slot)},
      .command = {"kill", "--", worker->jid}};
}

Effect ask_for_stack(View& view, const ViewContext& context) {
  const WorkerStatus* const worker = chosen_worker(view, context);
  if (!worker) {
    view.notice = "d shows the stack of a worker: choose one in the pane Workers";
    return {};
  }
  view.notice = fmt::format("asking worker {} for its stack", worker->slot);
  return {.command = {"dump", std::to_string(worker->slot)}};
}

void open(View& view, const ViewContext& context) {
  if (reads_lines(view)) return;
  view.detail = detail_of(context.model, view.pane, chosen_row(view, context.listing), context.now);
}

void show_pane(View& view, std::size_t pane) {
  view.help = false;
  view.detail.reset();
  view.pane = static_cast<Pane>(pane % panes);
}

void erase_last_character(std::string& text) {
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
  if (!text.empty()) text.pop_back();
}

}  // namespace

Effect apply(View& view, const Action& action, const ViewContext& context) {
  const auto pages = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, context.page));
  const auto everything = static_cast<std::ptrdiff_t>(std::max(context.lines, context.listing.rows.size()));
  if (action.kind != Kind::none) view.notice.clear();
  switch (action.kind) {
    case Kind::none:
      break;
    case Kind::quit:
      if (!reads_lines(view)) return {.quit = true};
      close(view);
      break;
    case Kind::close:
      close(view);
      break;
    case Kind::open:
      open(view, context);
      break;
    case Kind::help:
      view.help = !view.help;
      view.help_top = 0;
      break;
    case Kind::pause:
      view.paused = !view.paused;
      break;
    case Kind::show_pane:
      show_pane(view, static_cast<std::size_t>(action.number));
      break;
    case Kind::turn_panes:
      show_pane(view, static_cast<std::size_t>(view.pane) + (action.number > 0 ? 1 : panes - 1));
      break;
    case Kind::move:
      move(view, context, action.number);
      break;
    case Kind::move_pages:
      move(view, context, action.number * pages);
      break;
    case Kind::first:
      move(view, context, -everything);
      break;
    case Kind::last:
      move(view, context, everything);
      break;
    case Kind::edit_filter:
      if (!reads_lines(view)) view.filter_before = view.choice().filter;
      break;
    case Kind::type:
      view.choice().filter += action.text;
      break;
    case Kind::erase:
      erase_last_character(view.choice().filter);
      break;
    case Kind::erase_all:
      view.choice().filter.clear();
      break;
    case Kind::accept:
      view.filter_before.reset();
      break;
    case Kind::sort:
      if (!reads_lines(view)) choose_sort(view.choice(), context.listing, action.number);
      break;
    case Kind::reverse:
      if (!reads_lines(view) && view.choice().sort) view.choice().descending = !view.choice().descending;
      break;
    case Kind::kill_job:
      propose_kill(view, context);
      break;
    case Kind::dump:
      return ask_for_stack(view, context);
    case Kind::yes: {
      Effect effect{.command = view.proposal->command};
      view.proposal.reset();
      return effect;
    }
    case Kind::no:
      view.proposal.reset();
      break;
    case Kind::redraw:
      return {.redraw = true};
  }
  return {};
}

void refresh_detail(View& view, const Model& model, WallTime now) {
  if (!view.detail || !view.detail->row) return;
  std::optional<Detail> fresh = detail_of(model, view.pane, *view.detail->row, now);
  if (!fresh) return;
  fresh->top = view.detail->top;
  view.detail = std::move(fresh);
}

}  // namespace brood::watch
