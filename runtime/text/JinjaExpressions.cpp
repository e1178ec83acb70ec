//===- JinjaExpressions.cpp - the tree of an expression -----------------------------------------===//
#include "runtime/text/JinjaExpressions.h"

#include <algorithm>
#include <fmt/format.h>

namespace sluice::text {
namespace {

using Kind = JinjaNode::Kind;
using Node = std::unique_ptr<JinjaNode>;

/// Deeper trees are errors, so that their recursive functions cannot exhaust the stack. They are deep without brackets
/// too, as 1 + 1 + 1.
constexpr int deepestTree = 400;

} // namespace

Node JinjaExpressions::make(Kind kind, std::string text) {
  Node node = std::make_unique<JinjaNode>();
  node->kind = kind;
  node->text = std::move(text);
  return node;
}

void JinjaExpressions::grow(JinjaNode &node, const Node &part) {
  if (part)
    node.depth = std::max(node.depth, part->depth + 1);
  if (node.depth > deepestTree)
    fail("the template nests too deeply");
}

void JinjaExpressions::add(JinjaNode &node, Node part) {
  grow(node, part);
  node.parts.push_back(std::move(part));
}

std::string JinjaExpressions::take() {
  std::string text = token().text;
  if (at + 1 < tokens.size())
    ++at;
  return text;
}

void JinjaExpressions::fail(const std::string &problem) {
  if (failure.isOk())
    failure = inputError(fmt::format("chat template, line {}: {}", token().line, problem));
}

std::string JinjaExpressions::found() const {
  return is(JinjaToken::Kind::end) ? "the end of the template"
         : token().text.empty()    ? "the end of the tag"
                                   : fmt::format("'{}'", token().text);
}

void JinjaExpressions::expect(std::string_view symbol) {
  if (!takeSymbol(symbol))
    fail(fmt::format("expected '{}' but got {}", symbol, found()));
}

std::string JinjaExpressions::expectName() {
  if (!is(JinjaToken::Kind::name))
    fail(fmt::format("expected a name but got {}", found()));
  return take();
}

Node JinjaExpressions::expression() {
  if (++depth > deepest)
    fail("the template nests too deeply");
  Node node = orExpression();
  while (takeName("if")) {
    Node condition = orExpression();
    Node other = takeName("else") ? expression() : nullptr;
    node = make(Kind::choice, "", std::move(condition), std::move(node), std::move(other));
  }
  --depth;
  return node;
}

Node JinjaExpressions::orExpression() {
  Node node = andExpression();
  while (takeName("or"))
    node = make(Kind::binary, "or", std::move(node), andExpression());
  return node;
}

Node JinjaExpressions::andExpression() {
  Node node = notExpression();
  while (takeName("and"))
    node = make(Kind::binary, "and", std::move(node), notExpression());
  return node;
}

Node JinjaExpressions::notExpression() {
  if (!takeName("not"))
    return comparison();
  if (++depth > deepest)
    fail("the template nests too deeply");
  Node node = make(Kind::unary, "not", notExpression());
  --depth;
  return node;
}

Node JinjaExpressions::comparison() {
  Node node = sum();
  for (;;) {
    if (isName("not") && at + 1 < tokens.size() && tokens[at + 1].text == "in") {
      take();
      take();
      node = make(Kind::unary, "not", make(Kind::binary, "in", std::move(node), sum()));
    } else if (takeName("in")) {
      node = make(Kind::binary, "in", std::move(node), sum());
    } else if (isSymbol("==") || isSymbol("!=") || isSymbol("<") || isSymbol("<=") || isSymbol(">") || isSymbol(">=")) {
      std::string name = take();
      node = make(Kind::binary, std::move(name), std::move(node), sum());
    } else {
      return node;
    }
  }
}

Node JinjaExpressions::sum() {
  Node node = concatenation();
  while (isSymbol("+") || isSymbol("-")) {
    std::string name = take();
    node = make(Kind::binary, std::move(name), std::move(node), concatenation());
  }
  return node;
}

Node JinjaExpressions::concatenation() {
  Node node = product();
  while (takeSymbol("~"))
    node = make(Kind::binary, "~", std::move(node), product());
  return node;
}

Node JinjaExpressions::product() {
  Node node = sign();
  while (isSymbol("*") || isSymbol("/") || isSymbol("//") || isSymbol("%")) {
    std::string name = take();
    node = make(Kind::binary, std::move(name), std::move(node), sign());
  }
  return node;
}

Node JinjaExpressions::sign() {
  if (!takeSymbol("-"))
    return filtered(postfix(primary()));
  if (++depth > deepest)
    fail("the template nests too deeply");
  Node node = make(Kind::unary, "-", sign());
  --depth;
  return node;
}

Node JinjaExpressions::filtered(Node node) {
  for (;;) {
    if (takeSymbol("|")) {
      node = make(Kind::filter, expectName(), std::move(node));
      if (takeSymbol("("))
        arguments(*node, ")");
    } else if (takeName("is")) {
      const bool isNot = takeName("not");
      node = make(Kind::test, expectName(), std::move(node));
      if (takeSymbol("("))
        arguments(*node, ")");
      else if (is(JinjaToken::Kind::string) || is(JinjaToken::Kind::number))
        add(*node, primary());
      if (isNot)
        node = make(Kind::unary, "not", std::move(node));
    } else {
      return node;
    }
  }
}

Node JinjaExpressions::postfix(Node node) {
  for (;;) {
    if (takeSymbol(".")) {
      node = make(Kind::member, expectName(), std::move(node));
    } else if (takeSymbol("[")) {
      node = subscript(std::move(node));
      expect("]");
    } else if (takeSymbol("(")) {
      node = make(Kind::call, "", std::move(node));
      arguments(*node, ")");
    } else {
      return node;
    }
  }
}

Node JinjaExpressions::subscript(Node node) {
  Node first = isSymbol(":") ? nullptr : expression();
  if (!isSymbol(":"))
    return make(Kind::index, "", std::move(node), std::move(first));
  take();
  Node second = isSymbol(":") || isSymbol("]") ? nullptr : expression();
  Node step = takeSymbol(":") && !isSymbol("]") ? expression() : nullptr;
  return make(Kind::slice, "", std::move(node), std::move(first), std::move(second), std::move(step));
}

void JinjaExpressions::arguments(JinjaNode &node, std::string_view end) {
  while (!isSymbol(end) && failure.isOk()) {
    std::string name;
    if (is(JinjaToken::Kind::name) && at + 1 < tokens.size() && tokens[at + 1].kind == JinjaToken::Kind::symbol &&
        tokens[at + 1].text == "=") {
      name = take();
      take();
    }
    node.names.push_back(std::move(name));
    add(node, expression());
    if (!takeSymbol(","))
      break;
  }
  expect(end);
}

Node JinjaExpressions::literal(Json value) {
  Node node = make(Kind::literal);
  node->value = std::move(value);
  return node;
}

Node JinjaExpressions::primary() {
  if (is(JinjaToken::Kind::string)) {
    std::string text = take();
    while (is(JinjaToken::Kind::string))
      text += take();
    return literal(text);
  }
  if (is(JinjaToken::Kind::number)) {
    Json number = parseJson<Json>(token().text);
    if (!number.is_number())
      fail(fmt::format("expected a number but got {}", found()));
    take();
    return literal(std::move(number));
  }
  if (is(JinjaToken::Kind::name)) {
    const std::string name = take();
    if (name == "true" || name == "True" || name == "false" || name == "False")
      return literal(name == "true" || name == "True");
    if (name == "none" || name == "None")
      return literal(nullptr);
    return make(Kind::name, name);
  }
  if (takeSymbol("(")) {
    Node node = isSymbol(")") ? make(Kind::list) : expression();
    // A tuple is a list.
    if (isSymbol(",")) {
      node = make(Kind::list, "", std::move(node));
      while (takeSymbol(",") && !isSymbol(")"))
        add(*node, expression());
    }
    expect(")");
    return node;
  }
  if (takeSymbol("[")) {
    Node node = make(Kind::list);
    arguments(*node, "]");
    return node;
  }
  if (takeSymbol("{")) {
    Node node = make(Kind::dict);
    while (!isSymbol("}") && failure.isOk()) {
      add(*node, expression());
      expect(":");
      add(*node, expression());
      if (!takeSymbol(","))
        break;
    }
    expect("}");
    return node;
  }
  fail(fmt::format("expected an expression but got {}", found()));
  return make(Kind::literal);
}

} // namespace sluice::text
