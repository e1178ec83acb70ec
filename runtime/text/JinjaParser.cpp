//===- JinjaParser.cpp - the tree of a template ------------------------------------------------===//
#include "runtime/text/JinjaExpressions.h"

#include <algorithm>
#include <fmt/format.h>

namespace sluice::text {
namespace {

/// The parser of statements.
class Parser : JinjaExpressions {
public:
  explicit Parser(std::vector<JinjaToken> tokens) : JinjaExpressions(std::move(tokens)) {}

  Result<JinjaNodes> run() {
    JinjaNodes nodes = body({});
    if (failure.isOk())
      return nodes;
    return std::move(failure);
  }

private:
  void addBody(JinjaNode &node, JinjaNodes body) {
    for (const Node &part : body)
      grow(node, part);
    node.bodies.push_back(std::move(body));
  }
  void expectEnd(JinjaToken::Kind kind) {
    if (is(kind))
      take();
    else
      fail(fmt::format("expected the end of the tag but got {}", found()));
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
};

} // namespace

Result<JinjaNodes> parseJinja(std::string_view text) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<JinjaToken> tokens, splitJinja(text));
  return Parser(std::move(tokens)).run();
}

} // namespace sluice::text
