//===- JinjaExpressions.h - the tree of an expression -------------------------------------------===//
#ifndef SLUICE_RUNTIME_TEXT_JINJAEXPRESSIONS_H
#define SLUICE_RUNTIME_TEXT_JINJAEXPRESSIONS_H

#include "runtime/text/Jinja.h"
#include "runtime/text/JinjaLexer.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::text {

/// Reads the tokens of expressions, one function per precedence; the parser of statements is derived from it.
class JinjaExpressions {
protected:
  using Kind = JinjaNode::Kind;
  using Node = std::unique_ptr<JinjaNode>;

  explicit JinjaExpressions(std::vector<JinjaToken> tokens) : tokens(std::move(tokens)) {}

  /// Deeper expressions and blocks are errors, so that a template cannot exhaust the stack of the parser.
  static constexpr int deepest = 100;
  int depth = 0;
  /// The first error. After it, every token is the end of the template.
  Status failure;
  void fail(const std::string &problem);

  const JinjaToken &token() const { return failure.isOk() ? tokens[at] : tokens.back(); }
  bool is(JinjaToken::Kind kind) const { return token().kind == kind; }
  bool isSymbol(std::string_view text) const { return is(JinjaToken::Kind::symbol) && token().text == text; }
  bool isName(std::string_view text) const { return is(JinjaToken::Kind::name) && token().text == text; }
  std::string take();
  bool takeSymbol(std::string_view text) { return isSymbol(text) && (take(), true); }
  bool takeName(std::string_view text) { return isName(text) && (take(), true); }
  void expect(std::string_view symbol);
  std::string expectName();
  /// The token, for errors.
  std::string found() const;

  static Node make(Kind kind, std::string text = {});
  /// With parts; null: left out.
  template <typename... Parts> Node make(Kind kind, std::string text, Parts... parts) {
    Node node = make(kind, std::move(text));
    (add(*node, std::move(parts)), ...);
    return node;
  }
  void add(JinjaNode &node, Node part);
  /// Updates the depth of `node`, of which `part` is a part or in a body.
  void grow(JinjaNode &node, const Node &part);

  Node expression();
  /// Without `if`.
  Node orExpression();

private:
  Node andExpression();
  Node notExpression();
  Node comparison();
  Node sum();
  Node concatenation();
  Node product();
  Node sign();
  Node filtered(Node node);
  Node postfix(Node node);
  Node subscript(Node node);
  /// Arguments after the parts of `node`; names has the name of each, or nothing.
  void arguments(JinjaNode &node, std::string_view end);
  static Node literal(Json value);
  Node primary();

  std::vector<JinjaToken> tokens;
  std::size_t at = 0;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_JINJAEXPRESSIONS_H
