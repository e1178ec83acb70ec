//===- Jinja.h - the subset of Jinja that chat templates use --------------------------------===//
//
// Statements: for (with else, if, break and continue), if, set (of a variable, of a namespace's member, of a block),
// macro, generation. Expressions: those of Jinja; a macro is called by its name. Values are JSON; an undefined value is
// discarded JSON. Blanks around tags are removed as transformers does: trim_blocks and lstrip_blocks. Syntax outside
// the subset is an error when the template is parsed, or when it is rendered and reaches an unknown filter, test or
// method.
//
//===------------------------------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TEXT_JINJA_H
#define SLUICE_RUNTIME_TEXT_JINJA_H

#include "runtime/base/Json.h"
#include "runtime/base/Status.h"
#include "runtime/text/Split.h"

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::text {

struct JinjaNode;
using JinjaNodes = std::vector<std::unique_ptr<JinjaNode>>;

/// A node of a parsed template: a statement or an expression. The use of the members depends on the kind.
struct JinjaNode {
  enum class Kind {
    // Statements: text; parts[0] printed; branches of an if; a loop over parts[0] with filter parts[1]; names = value;
    // name.member = value; a name for a block's text; a body whose place in the output is recorded; a body with a name
    // and parameters, whose default values are parts.
    data,
    print,
    branches,
    loop,
    set,
    setMember,
    setBlock,
    generation,
    macro,
    breakLoop,
    continueLoop,
    // Expressions: a literal; a variable; lists and dicts of parts; parts[0] with member `text` or index parts[1]; a
    // slice of parts[0]; a call of parts[0]; filters and tests by name; operators.
    literal,
    name,
    list,
    dict,
    member,
    index,
    slice,
    call,
    filter,
    test,
    unary,
    binary,
    choice,
  };
  Kind kind;
  std::string text = {};
  Json value = {};
  /// Operands; null: left out.
  JinjaNodes parts = {};
  std::vector<std::string> names = {};
  /// Bodies of a statement, of which the last is `else` if there is one more than conditions.
  std::vector<JinjaNodes> bodies = {};
  /// Of the tree below: an evaluator and the destructor are recursive.
  int depth = 1;
};

/// Parses a template. Errors name the line.
Result<JinjaNodes> parseJinja(std::string_view text);

struct JinjaOutput {
  std::string text;
  /// The output of the generation statements.
  std::vector<Range> generated;
};

/// `variables`: an object. raise_exception() of the template is an error with its message. strftime_now() has the local
/// time of `now`, in seconds since 1970.
Result<JinjaOutput> renderJinja(const JinjaNodes &nodes, const Json &variables, std::int64_t now);

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_JINJA_H
