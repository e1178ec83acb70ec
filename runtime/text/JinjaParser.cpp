//===- JinjaParser.cpp - the tree of a template ------------------------------------------------===//
#include "runtime/text/Jinja.h"
#include "runtime/text/JinjaLexer.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace sluice::text {
namespace {

using Kind = JinjaNode::Kind;
using Node = std::unique_ptr<JinjaNode>;

/// Deeper expressions and blocks are errors, so that a template cannot exhaust the stack: of the parser, and of the
/// recursive functions of trees, which are deep without brackets too, as 1 + 1 + 1.
constexpr int deepest = 100, deepestTree = 400;

class Parser {
public:
  explicit Parser(std::vector<JinjaToken> tokens) : tokens(std::move(tokens)) {}

  Result<JinjaNodes> run() {
    JinjaNodes nodes = body({});
    if (failure.isOk())
      return nodes;
    return std::move(failure);
  }

private:
  std::vector<JinjaToken> tokens;
  std::size_t at = 0;
  int depth = 0;
  /// The first error. After it, every token is the end of the template.
  Status failure;

  Node make(Kind kind, std::string text = {}) {
    Node node = std::make_unique<JinjaNode>();
    node->kind = kind;
    node->text = std::move(text);
    return node;
  }
  template <typename... Parts> Node make(Kind kind, std::string text, Parts... parts) {
    Node node = make(kind, std::move(text));
    (add(*node, std::move(parts)), ...);
    return node;
  }
  void grow(JinjaNode &node, const Node &part) {
    if (part)
      node.depth = std::max(node.depth, part->depth + 1);
    if (node.depth > deepestTree)
      fail("the template nests too deeply");
  }
  void add(JinjaNode &node, Node part) {
    grow(node, part);
    node.parts.push_back(std::move(part));
  }
  void addBody(JinjaNode &node, JinjaNodes body) {
    for (const Node &part : body)
      grow(node, part);
    node.bodies.push_back(std::move(body));
  }

  const JinjaToken &token() const { return failure.isOk() ? tokens[at] : tokens.back(); }
  bool is(JinjaToken::Kind kind) const { return token().kind == kind; }
  bool isSymbol(std::string_view text) const { return is(JinjaToken::Kind::symbol) && token().text == text; }
  bool isName(std::string_view text) const { return is(JinjaToken::Kind::name) && token().text == text; }
  std::string take() {
    std::string text = token().text;
    if (at + 1 < tokens.size())
      ++at;
    return text;
  }
  bool takeSymbol(std::string_view text) { return isSymbol(text) && (take(), true); }
  bool takeName(std::string_view text) { return isName(text) && (take(), true); }
  void fail(const std::string &problem) {
    if (failure.isOk())
      failure = inputError(fmt::format("chat template, line {}: {}", token().line, problem));
  }
  std::string found() const {
    return is(JinjaToken::Kind::end) ? "the end of the template"
           : token().text.empty()    ? "the end of the tag"
                                     : fmt::format("'{}'", token().text);
  }
  void expect(std::string_view symbol) {
    if (!takeSymbol(symbol))
      fail(fmt::format("expected '{}' but got {}", symbol, found()));
  }
  void expectEnd(JinjaToken::Kind kind) {
    if (is(kind))
      take();
    else
      fail(fmt::format("expected the end of the tag but got {}", found()));
  }
  std::string expectName() {
    if (!is(JinjaToken::Kind::name))
      fail(fmt::format("expected a name but got {}", found()));
    return take();
  }

  /// Statements until a tag that begins with one of these names, whose name is the next token then.
  JinjaNodes body(const std::vector<std::string_view> &ends) {
    JinjaNodes nodes;
    if (++depth > deepest)
      fail("the template nests too deeply");
    for (;;) {
      if (is(JinjaToken::Kind::data)) {
        nodes.push_back(make(Kind::data, take()));
      } else if (is(JinjaToken::Kind::beginPrint)) {
        take();
        nodes.push_back(make(Kind::print, "", expression()));
        expectEnd(JinjaToken::Kind::endPrint);
      } else if (is(JinjaToken::Kind::beginStatement)) {
        take();
        if (std::ranges::any_of(ends, [&](std::string_view name) { return isName(name); }))
          break;
        nodes.push_back(statement());
      } else {
        if (!ends.empty())
          fail(fmt::format("expected {} but got {}", ends.back(), found()));
        break;
      }
    }
    --depth;
    return nodes;
  }

  void endStatement() { expectEnd(JinjaToken::Kind::endStatement); }
  void endStatement(std::string_view name) {
    takeName(name);
    endStatement();
  }

  Node statement() {
    const std::string name = expectName();
    if (name == "if")
      return branches();
    if (name == "for")
      return loop();
    if (name == "set")
      return assignment();
    if (name == "macro")
      return macro();
    if (name == "break" || name == "continue") {
      endStatement();
      return make(name == "break" ? Kind::breakLoop : Kind::continueLoop);
    }
    if (name == "generation") {
      endStatement();
      Node node = make(Kind::generation);
      addBody(*node, body({"endgeneration"}));
      endStatement("endgeneration");
      return node;
    }
    fail(fmt::format("statement '{}' is not supported", name));
    return make(Kind::data);
  }

  Node branches() {
    Node node = make(Kind::branches);
    add(*node, expression());
    endStatement();
    for (;;) {
      addBody(*node, body({"elif", "else", "endif"}));
      if (takeName("elif")) {
        add(*node, expression());
        endStatement();
      } else if (takeName("else")) {
        endStatement();
        addBody(*node, body({"endif"}));
        break;
      } else {
        break;
      }
    }
    endStatement("endif");
    return node;
  }

  Node loop() {
    Node node = make(Kind::loop);
    do
      node->names.push_back(expectName());
    while (takeSymbol(","));
    if (!takeName("in"))
      fail(fmt::format("expected 'in' but got {}", found()));
    // The condition is not part of the list's expression.
    add(*node, orExpression());
    add(*node, takeName("if") ? expression() : nullptr);
    endStatement();
    addBody(*node, body({"else", "endfor"}));
    if (takeName("else")) {
      endStatement();
      addBody(*node, body({"endfor"}));
    }
    endStatement("endfor");
    return node;
  }

  Node macro() {
    Node node = make(Kind::macro, expectName());
    expect("(");
    while (!isSymbol(")") && failure.isOk()) {
      node->names.push_back(expectName());
      add(*node, takeSymbol("=") ? expression() : nullptr);
      if (!takeSymbol(","))
        break;
    }
    expect(")");
    endStatement();
    addBody(*node, body({"endmacro"}));
    endStatement("endmacro");
    return node;
  }

  Node assignment() {
    Node node = make(Kind::set, expectName());
    if (takeSymbol(".")) {
      node->kind = Kind::setMember;
      node->names.push_back(expectName());
    }
    if (is(JinjaToken::Kind::endStatement) && node->kind == Kind::set) {
      endStatement();
      node->kind = Kind::setBlock;
      addBody(*node, body({"endset"}));
      endStatement("endset");
      return node;
    }
    expect("=");
    add(*node, expression());
    endStatement();
    return node;
  }

  Node expression() {
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

  Node orExpression() {
    Node node = andExpression();
    while (takeName("or"))
      node = make(Kind::binary, "or", std::move(node), andExpression());
    return node;
  }

  Node andExpression() {
    Node node = notExpression();
    while (takeName("and"))
      node = make(Kind::binary, "and", std::move(node), notExpression());
    return node;
  }

  Node notExpression() {
    if (!takeName("not"))
      return comparison();
    if (++depth > deepest)
      fail("the template nests too deeply");
    Node node = make(Kind::unary, "not", notExpression());
    --depth;
    return node;
  }

  Node comparison() {
    Node node = sum();
    for (;;) {
      if (isName("not") && at + 1 < tokens.size() && tokens[at + 1].text == "in") {
        take();
        take();
        node = make(Kind::unary, "not", make(Kind::binary, "in", std::move(node), sum()));
      } else if (takeName("in")) {
        node = make(Kind::binary, "in", std::move(node), sum());
      } else if (isSymbol("==") || isSymbol("!=") || isSymbol("<") || isSymbol("<=") || isSymbol(">") ||
                 isSymbol(">=")) {
        std::string name = take();
        node = make(Kind::binary, std::move(name), std::move(node), sum());
      } else {
        return node;
      }
    }
  }

  Node sum() {
    Node node = concatenation();
    while (isSymbol("+") || isSymbol("-")) {
      std::string name = take();
      node = make(Kind::binary, std::move(name), std::move(node), concatenation());
    }
    return node;
  }

  Node concatenation() {
    Node node = product();
    while (takeSymbol("~"))
      node = make(Kind::binary, "~", std::move(node), product());
    return node;
  }

  Node product() {
    Node node = sign();
    while (isSymbol("*") || isSymbol("/") || isSymbol("//") || isSymbol("%")) {
      std::string name = take();
      node = make(Kind::binary, std::move(name), std::move(node), sign());
    }
    return node;
  }

  Node sign() {
    if (!takeSymbol("-"))
      return filtered(postfix(primary()));
    if (++depth > deepest)
      fail("the template nests too deeply");
    Node node = make(Kind::unary, "-", sign());
    --depth;
    return node;
  }

  Node filtered(Node node) {
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

  Node postfix(Node node) {
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

  Node subscript(Node node) {
    Node first = isSymbol(":") ? nullptr : expression();
    if (!isSymbol(":"))
      return make(Kind::index, "", std::move(node), std::move(first));
    take();
    Node second = isSymbol(":") || isSymbol("]") ? nullptr : expression();
    Node step = takeSymbol(":") && !isSymbol("]") ? expression() : nullptr;
    return make(Kind::slice, "", std::move(node), std::move(first), std::move(second), std::move(step));
  }

  /// Arguments after the parts of `node`; names has the name of each, or nothing.
  void arguments(JinjaNode &node, std::string_view end) {
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

  Node literal(Json value) {
    Node node = make(Kind::literal);
    node->value = std::move(value);
    return node;
  }

  Node primary() {
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
};

} // namespace

Result<JinjaNodes> parseJinja(std::string_view text) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<JinjaToken> tokens, splitJinja(text));
  return Parser(std::move(tokens)).run();
}

} // namespace sluice::text
