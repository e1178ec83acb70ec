//===- ViewMutants.cpp - shapes, strides, types and valid extents of views ------------===//
#include "test/mutants/mutate/Mutation.h"

namespace sluice {

namespace {

bool halveView(Mutation &m, bool output) {
  const auto place = m.place([&](const auto &i) { return output ? isLaunch(i) : hasInputs(i, 1); });
  if (!place)
    return false;
  plan::ViewT &view = *m.pick(output ? m.writes(m.at(*place)) : m.reads(m.at(*place)));
  if (view.shape.empty() || view.shape[0] < 2)
    return false;
  view.shape[0] /= 2;
  return true;
}

/// Exchanges the strides of two dims of equal extent.
bool transposeView(Mutation &m) {
  std::vector<std::pair<plan::ViewT *, std::size_t>> choices;
  for (const MutantPlace &place : m.places(isLaunch))
    for (plan::ViewT *view : m.reads(m.at(place)))
      for (std::size_t d = 0; d + 1 < view->shape.size(); ++d)
        if (view->shape[d] == view->shape[d + 1] && view->shape[d] > 1)
          choices.push_back({view, d});
  if (choices.empty())
    return false;
  const auto [view, d] = m.pick(choices);
  if (view->strides.empty()) {
    view->strides.assign(view->shape.size(), 1);
    for (std::size_t k = view->shape.size() - 1; k-- > 0;)
      view->strides[k] = view->strides[k + 1] * view->shape[k + 1];
  }
  std::swap(view->strides[d], view->strides[d + 1]);
  return true;
}

bool broadcastView(Mutation &m) {
  return m.edit([](const auto &i) { return hasInputs(i, 1); },
                [&](plan::InstructionT &i) {
                  plan::ViewT &view = *m.pick(m.reads(i));
                  view.strides.assign(view.shape.size(), 0);
                });
}

bool otherDType(Mutation &m) {
  return m.edit(isLaunch, [&](plan::InstructionT &i) {
    plan::ViewT &view = *m.pick(m.coin() && hasInputs(i, 1) ? m.reads(i) : m.writes(i));
    view.dtype = plan::DType(m.below(7));
  });
}

plan::ViewT *paddedView(Mutation &m) {
  std::vector<plan::ViewT *> views;
  for (const MutantPlace &place : m.places(isWork))
    for (bool written : {false, true})
      for (plan::ViewT *view : written ? m.writes(m.at(place)) : m.reads(m.at(place)))
        if (!view->valid.empty())
          views.push_back(view);
  return views.empty() ? nullptr : m.pick(views);
}

bool dropValid(Mutation &m) {
  plan::ViewT *view = paddedView(m);
  if (view)
    view->valid.clear();
  return view;
}

bool otherValid(Mutation &m) {
  plan::ViewT *view = paddedView(m);
  if (view)
    view->valid[0]->total += m.coin() || view->valid[0]->total < 2 ? 1 : -1;
  return view;
}

bool otherChunk(Mutation &m) {
  plan::ViewT *view = paddedView(m);
  if (view)
    view->valid[0]->chunk += m.coin() || view->valid[0]->chunk < 2 ? 1 : -1;
  return view;
}

bool otherValidAxes(Mutation &m) {
  plan::ViewT *view = paddedView(m);
  if (!view)
    return false;
  view->valid[0]->axes.clear();
  for (std::uint32_t axis = 0; axis < m.plan.mesh.size(); ++axis)
    if (m.coin())
      view->valid[0]->axes.push_back(axis);
  return true;
}

bool addValid(Mutation &m) {
  return m.edit([](const auto &i) { return hasInputs(i, 1); },
                [&](plan::InstructionT &i) {
                  plan::ViewT &view = *m.pick(m.coin() ? m.reads(i) : m.writes(i));
                  if (view.shape.empty() || !view.valid.empty())
                    return;
                  auto valid = std::make_unique<plan::ValidT>();
                  valid->dim = std::uint32_t(m.below(view.shape.size()));
                  valid->chunk = view.shape[valid->dim];
                  for (std::uint32_t axis = 0; axis < m.plan.mesh.size(); ++axis)
                    valid->axes.push_back(axis);
                  valid->total = valid->chunk * std::int64_t(groupSize(m.plan, valid->axes)) - 1;
                  view.valid.push_back(std::move(valid));
                });
}

/// Rows of the view begin at a different distance.
bool otherStride(Mutation &m) {
  return m.edit([](const auto &i) { return hasInputs(i, 1); },
                [&](plan::InstructionT &i) {
                  plan::ViewT &view = *m.pick(m.reads(i));
                  if (view.shape.size() < 2 || view.shape[0] < 2)
                    return;
                  if (view.strides.empty()) {
                    view.strides.assign(view.shape.size(), 1);
                    for (std::size_t k = view.shape.size() - 1; k-- > 0;)
                      view.strides[k] = view.strides[k + 1] * view.shape[k + 1];
                  }
                  view.strides[0] -= 1;
                });
}

} // namespace

std::vector<MutantKind> viewKinds() {
  return {
      {"halve-output",
       "a launch writes half of its output",
       {1, 2, 7, 8, 9, 10},
       [](Mutation &m) { return halveView(m, true); }},
      {"halve-input",
       "a launch reads half of an input",
       {1, 2, 7, 8, 9, 10},
       [](Mutation &m) { return halveView(m, false); }},
      {"transpose-view", "a view of a square tensor is transposed", {1, 2, 7, 9}, transposeView},
      {"broadcast-view", "a view repeats its first element", {1, 2, 7, 8, 9, 10}, broadcastView},
      {"other-dtype", "a view has a different element type", {1, 2, 9}, otherDType},
      {"drop-valid-extent", "a view includes the padding", {2, 8, 9, 10}, dropValid},
      {"other-valid-extent", "a view has a different valid extent", {1, 2, 8, 9, 10}, otherValid},
      {"other-valid-chunk", "the valid extent of a view has a different chunk", {1, 2, 8, 9, 10}, otherChunk},
      {"other-valid-axes", "the valid extent of a view is along different axes", {1, 2, 8, 9, 10}, otherValidAxes},
      {"add-valid-extent", "a view leaves out the last element of the last rank", {1, 2, 7, 8, 9, 10}, addValid},
      {"other-stride", "the rows of a view are at a different distance", {1, 2, 7, 8, 9, 10}, otherStride},
  };
}

} // namespace sluice
