"""Diagnostics: lower case at the start, no final period.

Reads the string literals that are the message of an error: the first literal after the opening bracket of a call that
makes one, through fmt::format and Twine, and the last literal of the statement.
"""

import re

import lint

CALL = re.compile(r"\b(?:emitOpError|emitError|emitWarning|inputError|refusedError|failedError|internalError|"
                  r"attachNote|withNote|addNote)\s*\(")
LITERAL = re.compile(r'R"\((.*?)\)"|"((?:[^"\\]|\\.)*)"', re.S)


def statement(text, begin):
    """The text of a statement from `begin` to its semicolon; strings do not end it."""
    at = begin
    while at < len(text) and text[at] != ";":
        literal = LITERAL.match(text, at)
        at = literal.end() if literal else at + 1
    return text[begin:at]


def acceptable_start(message):
    """Lower case, or no letter at all; or a proper name (P3, JSON, I64)."""
    if len(message) < 2 or not message[0].isalpha() or message[0].islower():
        return True
    word = re.match(r"[A-Za-z0-9]+", message)[0]
    return len(word) > 1 and (word.isupper() or any(c.isupper() for c in word[1:]))


def check(root):
    for name, path in lint.files(root, ("dialect", "passes", "runtime", "tools"), (".cpp", ".h", ".td")):
        text = path.read_text(errors="replace")
        for call in CALL.finditer(text):
            literals = [m[1] if m[1] is not None else m[2] for m in LITERAL.finditer(statement(text, call.end()))]
            if not literals:
                continue
            number = text.count("\n", 0, call.start()) + 1
            first, last = literals[0], literals[-1]
            if not acceptable_start(first):
                yield f'{name}:{number}: "{first}", expected a message that begins in lower case'
            if re.search(r"[\w)\]']\.$", last):
                yield f'{name}:{number}: "{last}", expected a message without a final period'


CLEAN = {"runtime/a.cpp": 'return inputError(fmt::format("cannot read \'{}\': {}", path, text));\n'
                          'return refusedError("JSON header, expected a; but got b");\n'
                          'return op.emitOpError() << "expected " << n << " operands";\n'
                          'return emitOpError("expected ") << x << "...";\n'}
PLANTED = [({"runtime/b.cpp": '\nreturn inputError("Cannot read it");'}, "runtime/b.cpp:2"),
           ({"dialect/b.cpp": 'return emitOpError("expected two operands.");'}, "without a final period"),
           ({"dialect/c.cpp": 'return emitOpError() << "Expected " << 2;'}, "begins in lower case"),
           ({"passes/b.cpp": 'emitError(loc)\n  << "expected " << n << " ranks.";'}, "passes/b.cpp:1"),
           ({"runtime/c.cpp": 'return std::move(s).withNote("Mend it");'}, "begins in lower case")]

if __name__ == "__main__":
    lint.main(check, CLEAN, PLANTED)
