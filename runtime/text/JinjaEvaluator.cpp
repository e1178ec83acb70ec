//===- JinjaEvaluator.cpp - renders a parsed template ------------------------------------------===//
#include "runtime/text/Jinja.h"
#include "runtime/text/JinjaFunctions.h"
#include "runtime/text/JinjaWork.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace sluice::text {
namespace {

using Kind = JinjaNode::Kind;

/// Limit of nested evaluations, so that calls of macros cannot exhaust the stack.
constexpr int deepestEvaluation = 1000;

class Evaluator {
public:
  Evaluator(const Json &variables, std::int64_t now) : now(now) {
    scopes.emplace_back();
    for (auto item = variables.begin(); item != variables.end(); ++item)
      scopes.back()[item.key()] = *item;
  }

  Result<JinjaOutput> run(const JinjaNodes &nodes) {
    render(nodes);
    if (failure.isOk())
      return std::move(output);
    return std::move(failure);
  }

private:
  enum class Flow { next, breakLoop, continueLoop };

  /// While it exists, one more evaluation is nested.
  struct Level {
    Evaluator &evaluator;
    explicit Level(Evaluator &evaluator) : evaluator(evaluator) {
      if (++evaluator.depth > deepestEvaluation)
        evaluator.fail("the template nests too deeply");
    }
    ~Level() { --evaluator.depth; }
    Level(const Level &) = delete;
    Level &operator=(const Level &) = delete;
  };

  std::vector<std::map<std::string, Json, std::less<>>> scopes;
  std::map<std::string, const JinjaNode *, std::less<>> macros;
  std::int64_t now;
  int depth = 0;
  JinjaOutput output;
  /// The first error. After it, nothing is rendered.
  Status failure;
  JinjaWork work;

  /// False after an error, also if the work is too much.
  bool count(Status counted) {
    if (!counted.isOk())
      fail(counted.message());
    return failure.isOk();
  }

  template <typename T> T orFail(Result<T> result, T other) {
    if (result.isOk())
      return std::move(*result);
    if (failure.isOk()) {
      failure = inputError("chat template: " + result.status().message());
      for (const std::string &note : result.status().notes())
        failure.addNote(note);
    }
    return other;
  }
  Json orFail(Result<Json> result) { return orFail(std::move(result), undefinedValue()); }
  Json fail(std::string problem) { return orFail(Result<Json>(inputError(std::move(problem)))); }

  Json *find(std::string_view name) {
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
      if (const auto found = scope->find(name); found != scope->end())
        return &found->second;
    return nullptr;
  }

  Flow render(const JinjaNodes &nodes) {
    for (const auto &node : nodes) {
      if (!failure.isOk())
        break;
      if (const Flow flow = render(*node); flow != Flow::next)
        return flow;
    }
    return Flow::next;
  }

  /// The text of a body, which is no part of the output.
  std::string capture(const JinjaNodes &body) {
    const std::size_t begin = output.text.size(), marks = output.generated.size();
    render(body);
    std::string text = output.text.substr(begin);
    output.text.resize(begin);
    if (output.generated.size() != marks)
      fail("a generation statement within a macro or a set statement is not supported");
    return text;
  }

  Flow render(const JinjaNode &node) {
    const Level level(*this);
    if (!count(work.add(node.text.size())))
      return Flow::next;
    switch (node.kind) {
    case Kind::data:
      output.text += node.text;
      break;
    case Kind::print:
      output.text += orFail(textOf(evaluate(*node.parts[0])), std::string());
      break;
    case Kind::branches:
      return renderBranches(node);
    case Kind::loop:
      renderLoop(node);
      break;
    case Kind::set:
      scopes.back()[node.text] = evaluate(*node.parts[0]);
      break;
    case Kind::setMember: {
      Json value = evaluate(*node.parts[0]);
      Json *object = find(node.text);
      if (object && object->is_object())
        (*object)[node.names[0]] = std::move(value);
      else
        fail(fmt::format("'{}' is not a namespace", node.text));
      break;
    }
    case Kind::setBlock: {
      std::string text = capture(node.bodies[0]);
      scopes.back()[node.text] = std::move(text);
      break;
    }
    case Kind::macro:
      macros[node.text] = &node;
      break;
    case Kind::generation: {
      const std::size_t begin = output.text.size();
      scopes.emplace_back();
      const Flow flow = render(node.bodies[0]);
      scopes.pop_back();
      output.generated.push_back({begin, output.text.size()});
      return flow;
    }
    case Kind::breakLoop:
      return Flow::breakLoop;
    case Kind::continueLoop:
      return Flow::continueLoop;
    default:
      break;
    }
    return Flow::next;
  }

  Flow renderBranches(const JinjaNode &node) {
    for (std::size_t i = 0; i < node.bodies.size(); ++i)
      if (i == node.parts.size() || isTrue(evaluate(*node.parts[i])))
        return render(node.bodies[i]);
    return Flow::next;
  }

  void assign(const std::vector<std::string> &names, const Json &item) {
    if (names.size() == 1) {
      scopes.back()[names[0]] = item;
      return;
    }
    if (!item.is_array() || item.size() != names.size()) {
      fail(fmt::format("a loop over {} variables, expected lists of {}", names.size(), names.size()));
      return;
    }
    for (std::size_t i = 0; i < names.size(); ++i)
      scopes.back()[names[i]] = item[i];
  }

  /// The items of a loop that pass its condition.
  std::vector<Json> itemsOf(const JinjaNode &node) {
    const Json list = evaluate(*node.parts[0]);
    std::vector<Json> items;
    if (list.is_array())
      items.assign(list.begin(), list.end());
    else if (list.is_object())
      for (auto item = list.begin(); item != list.end(); ++item)
        items.emplace_back(item.key());
    else if (failure.isOk() && !list.is_discarded())
      fail(fmt::format("a value of type {} is not a list", list.type_name()));
    if (!node.parts[1])
      return items;
    std::erase_if(items, [&](const Json &item) {
      scopes.emplace_back();
      assign(node.names, item);
      const bool isKept = isTrue(evaluate(*node.parts[1]));
      scopes.pop_back();
      return !isKept;
    });
    return items;
  }

  void renderLoop(const JinjaNode &node) {
    const std::vector<Json> items = itemsOf(node);
    if (items.empty() && node.bodies.size() == 2)
      render(node.bodies[1]);
    for (std::size_t i = 0; i < items.size() && count(work.add(0)); ++i) {
      scopes.emplace_back();
      assign(node.names, items[i]);
      Json loop = Json::object();
      loop["index"] = i + 1;
      loop["index0"] = i;
      loop["revindex"] = items.size() - i;
      loop["revindex0"] = items.size() - i - 1;
      loop["length"] = items.size();
      loop["first"] = i == 0;
      loop["last"] = i + 1 == items.size();
      if (i > 0)
        loop["previtem"] = items[i - 1];
      if (i + 1 < items.size())
        loop["nextitem"] = items[i + 1];
      scopes.back()["loop"] = std::move(loop);
      const Flow flow = render(node.bodies[0]);
      scopes.pop_back();
      if (flow == Flow::breakLoop)
        break;
    }
  }

  /// A variable, or a member of one, where it is; nullptr if the expression is not of this form or has no value.
  const Json *place(const JinjaNode &node) {
    if (node.kind == Kind::name)
      return find(node.text);
    if (node.kind != Kind::member && node.kind != Kind::index)
      return nullptr;
    const Json *base = place(*node.parts[0]);
    if (!base)
      return nullptr;
    return node.kind == Kind::member ? at(*base, node.text) : at(*base, evaluate(*node.parts[1]));
  }

  static const Json *at(const Json &base, const Json &key) {
    if (base.is_object() && key.is_string()) {
      const auto found = base.find(key.get_ref<const std::string &>());
      return found == base.end() ? nullptr : &*found;
    }
    if (!base.is_array() || !key.is_number_integer())
      return nullptr;
    const auto size = static_cast<std::int64_t>(base.size());
    std::int64_t index = key.get<std::int64_t>();
    index += index < 0 ? size : 0;
    return index >= 0 && index < size ? &base[static_cast<std::size_t>(index)] : nullptr;
  }

  Json evaluate(const JinjaNode &node) {
    const Level level(*this);
    if (!failure.isOk())
      return undefinedValue();
    const Json *stored = place(node);
    if (stored && !count(work.addValue(*stored)))
      return undefinedValue();
    Json value = stored ? *stored : compute(node);
    return stored || count(work.addValue(value)) ? value : undefinedValue();
  }

  /// The value of an expression that is not stored.
  Json compute(const JinjaNode &node) {
    switch (node.kind) {
    case Kind::literal:
      return node.value;
    case Kind::list: {
      Json list = Json::array();
      for (const auto &part : node.parts)
        list.push_back(evaluate(*part));
      return list;
    }
    case Kind::dict: {
      Json object = Json::object();
      for (std::size_t i = 0; i + 1 < node.parts.size(); i += 2)
        object[orFail(textOf(evaluate(*node.parts[i])), std::string())] = evaluate(*node.parts[i + 1]);
      return object;
    }
    case Kind::member:
    case Kind::index:
      return item(node);
    case Kind::slice: {
      const auto bound = [&](std::size_t i) { return node.parts[i] ? evaluate(*node.parts[i]) : Json(); };
      return orFail(sliceOf(evaluate(*node.parts[0]), bound(1), bound(2), bound(3)));
    }
    case Kind::call:
      return call(node);
    case Kind::filter:
      return orFail(applyFilter(node.text, evaluate(*node.parts[0]), argumentsOf(node)));
    case Kind::test:
      if ((node.text == "defined" || node.text == "undefined") && isFunction(*node.parts[0]))
        return node.text == "defined";
      return orFail(applyTest(node.text, evaluate(*node.parts[0]), argumentsOf(node)), false);
    case Kind::unary: {
      const Json value = evaluate(*node.parts[0]);
      return node.text == "not" ? Json(!isTrue(value)) : orFail(applyOperator("-", Json(0), value));
    }
    case Kind::binary:
      return binary(node);
    case Kind::choice:
      if (isTrue(evaluate(*node.parts[0])))
        return evaluate(*node.parts[1]);
      return node.parts[2] ? evaluate(*node.parts[2]) : undefinedValue();
    default:
      return undefinedValue();
    }
  }

  Json item(const JinjaNode &node) {
    const Json base = evaluate(*node.parts[0]);
    if (base.is_discarded())
      return fail(node.kind == Kind::member ? fmt::format("the value with the member '{}' is undefined", node.text)
                                            : std::string("the value of which an item is read is undefined"));
    const Json key = node.kind == Kind::member ? Json(node.text) : evaluate(*node.parts[1]);
    if (base.is_string() && key.is_number_integer()) {
      const std::int64_t index = key.get<std::int64_t>();
      const Json character = orFail(sliceOf(base, key, index == -1 ? Json() : Json(index + 1), Json()));
      return character == Json("") ? undefinedValue() : character;
    }
    const Json *found = at(base, key);
    return found ? *found : undefinedValue();
  }

  Json binary(const JinjaNode &node) {
    Json left = evaluate(*node.parts[0]);
    if (node.text == "and" || node.text == "or")
      return isTrue(left) == (node.text == "or") ? left : evaluate(*node.parts[1]);
    return orFail(applyOperator(node.text, left, evaluate(*node.parts[1])));
  }

  /// The parts after the first.
  JinjaArguments argumentsOf(const JinjaNode &node) {
    JinjaArguments arguments;
    for (std::size_t i = 1; i < node.parts.size(); ++i) {
      Json value = evaluate(*node.parts[i]);
      const std::string name = i - 1 < node.names.size() ? node.names[i - 1] : "";
      if (name.empty())
        arguments.values.push_back(std::move(value));
      else
        arguments.named.emplace_back(name, std::move(value));
    }
    return arguments;
  }

  Json call(const JinjaNode &node) {
    const JinjaNode &callee = *node.parts[0];
    const JinjaArguments arguments = argumentsOf(node);
    if (callee.kind == Kind::member)
      return orFail(callMethod(callee.text, evaluate(*callee.parts[0]), arguments));
    if (callee.kind != Kind::name)
      return fail("only functions and methods can be called");
    if (const auto macro = macros.find(callee.text); macro != macros.end())
      return call(*macro->second, arguments);
    return orFail(callFunction(callee.text, arguments, now));
  }

  /// True for the name of a function or macro that no variable has.
  bool isFunction(const JinjaNode &node) {
    return node.kind == Kind::name && !find(node.text) &&
           (macros.contains(node.text) || sluice::text::isFunction(node.text));
  }

  /// The text of a macro. It reads its parameters and the variables of the template, but not those of loops around the
  /// call.
  Json call(const JinjaNode &macro, const JinjaArguments &arguments) {
    if (arguments.values.size() > macro.names.size())
      return fail(fmt::format("macro '{}', expected at most {} arguments but got {}", macro.text, macro.names.size(),
                              arguments.values.size()));
    for (const auto &[name, value] : arguments.named)
      if (std::ranges::find(macro.names, name) == macro.names.end())
        return fail(fmt::format("macro '{}' has no parameter '{}'", macro.text, name));
    std::vector<std::map<std::string, Json, std::less<>>> outer(std::make_move_iterator(scopes.begin() + 1),
                                                                std::make_move_iterator(scopes.end()));
    scopes.resize(1);
    scopes.emplace_back();
    for (std::size_t i = 0; i < macro.names.size(); ++i) {
      Json value = arguments.get(i, macro.names[i]);
      if (value.is_discarded() && macro.parts[i])
        value = evaluate(*macro.parts[i]);
      scopes.back()[macro.names[i]] = std::move(value);
    }
    std::string text = capture(macro.bodies[0]);
    scopes.resize(1);
    scopes.insert(scopes.end(), std::make_move_iterator(outer.begin()), std::make_move_iterator(outer.end()));
    return text;
  }
};

} // namespace

Result<JinjaOutput> renderJinja(const JinjaNodes &nodes, const Json &variables, std::int64_t now) {
  return Evaluator(variables, now).run(nodes);
}

} // namespace sluice::text
