"""Every error message of the compiler, the runtime and the tools is named by a test.

A message is the string literals of a statement that creates an error. It counts as tested if an assertion of a test
contains some consecutive words of it that no other message has; a comment or the input of a tool is not an assertion.
If other messages have all of its words, assertions must contain its longest literal as often as there are such
messages. For calls that pass only a name to a helper the helper's message counts. Internal errors are excluded: only a
bug in Sluice raises them. EXCEPTIONS lists messages that no test can cause, each with its reason; an entry for a tested
message, or for no message, is also an error.
"""

import re

import lint

CALL = re.compile(r"\b(?:emitOpError|emitError|emitWarning|emitOptionalError|inputError|refusedError|failedError|usage|"
                  r"refuse|fail|error)\s*\(|\bStatusCode::(?:usage|budget|input|refused|failed)\s*,")
LITERAL = re.compile(r'R"\((.*?)\)"|"((?:[^"\\]|\\.)*)"', re.S)

# (a part of the message, the reason why no test has it)
GONE = "a process dies at an unknown moment: the tests kill ranks, and any of several messages may be the first"
SYSTEM = "the operating system or a library refuses a thread, a socket or a call, which does not happen in a test"
OTHER = "the consequence of a failure of a different rank, whose message is the tested one"
NOISE = "a process of the same build sends bytes that this build cannot read"
PADDING = "P8 refuses reads of padding before, except of padding in two dims of a view"
GPU = "a driver, library or device of CUDA that is older than that of the tests, or that fails"
EXCEPTIONS = [
    ("cannot start the thread of", SYSTEM),
    ("mpi cannot start: error", SYSTEM),
    ("mpi cannot create a group of processes:", SYSTEM),
    ("cannot create a socket:", SYSTEM),
    ("cannot accept a connection:", SYSTEM),
    ("cannot create an event:", SYSTEM),
    ("oneDNN has no implementation of the matrix product with at most", SYSTEM),
    ("oneDNN cannot prepare the matrix product:", SYSTEM),
    ("oneDNN ... failed with status", SYSTEM),
    ("oneDNN cannot prepare the convolution:", SYSTEM),
    ("as the launcher says but got rank", "a launcher whose environment and whose library disagree"),
    ("segments of a collective, expected fewer but got", "a collective of a million segments"),
    ("a call of rank", NOISE),
    ("the greeting of rank", NOISE),
    ("has died (process", GONE),
    ("has run nothing for", GONE),
    (": the ranks have not met within", GONE),
    ("a different rank of the collective failed", OTHER),
    ("cuda device code, expected it in this build but", "a build without nvcc"),
    ("rank ... was lost during the rendezvous:", GONE),
]


def unescape(text):
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), text)


def statement_end(text, at):
    """Where the statement that begins before `at` ends; strings and comments do not end it."""
    while at < len(text) and text[at] != ";":
        if text.startswith("//", at):
            at = text.find("\n", at)
            if at < 0:
                return len(text)
            continue
        literal = LITERAL.match(text, at)
        at = literal.end() if literal else at + 1
    return at


def fragments(text, begin, end):
    """The literals of text[begin:end], adjacent ones as one, without placeholders."""
    found, last = [], None
    for literal in LITERAL.finditer(text, begin, end):
        words = literal[1] if literal[1] is not None else unescape(literal[2])
        if last is not None and not text[last:literal.start()].strip():
            found[-1] += words
        else:
            found.append(words)
        last = literal.end()
    parts = [part.strip() for words in found for part in re.split(r"\{[^}]*\}", words)]
    return tuple(part for part in parts if part)


def messages(root):
    """(file, line, fragments) of every message."""
    for name, path in lint.files(root, ("dialect", "passes", "runtime", "tools"), (".cpp", ".h", ".td")):
        text, done = path.read_text(errors="replace"), -1
        for call in CALL.finditer(text):
            line = text[text.rfind("\n", 0, call.start()) + 1:call.start()]
            if call.start() < done or "//" in line:
                continue
            done = statement_end(text, call.end())
            parts = fragments(text, call.end(), done)
            if any(speaks(part) for part in parts):
                yield name, text.count("\n", 0, call.start()) + 1, parts


def speaks(part):
    """Is it more than the name of an operand or field?"""
    return len(part.split()) >= 2 and len(re.findall("[a-z]", part)) >= 6


def pieces(part):
    """All runs of words of a literal that can identify it."""
    words = part.split()
    for begin in range(len(words)):
        for end in range(begin + 1, len(words) + 1):
            piece = " ".join(words[begin:end])
            if len(piece) >= (9 if end - begin >= 2 else 12):
                yield piece


# A line of a lit file with an assertion: a directive of FileCheck, or an expected diagnostic.
DIRECTIVE = re.compile(r"^(?!.*RUN:).*(?:\b[A-Z][A-Z0-9_-]*(?:-(?:NEXT|SAME|DAG|NOT|LABEL))?:|"
                       r"expected-(?:error|note|remark|warning)).*$", re.M)
COMMENT = {".cpp": re.compile(r'//[^\n]*|/\*.*?\*/|(R"\(.*?\)"|"(?:[^"\\\n]|\\.)*")', re.S),
           ".py": re.compile(r'""".*?"""|#[^\n]*|("(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')', re.S)}
COMMENT[".h"] = COMMENT[".cpp"]


def tests(root):
    """The assertions of the tests: code without comments, and the checked lines of lit files, with single blanks."""
    texts = []
    for name, path in lint.files(root, ("test",), (*COMMENT, ".mlir", ".test")):
        if name.startswith(("test/lint/", "test/reference/", "test/bench/")):
            continue
        text = path.read_text(errors="replace")
        if path.suffix in COMMENT:
            text = COMMENT[path.suffix].sub(lambda match: match[1] or " ", text)
            text = re.sub(r'"\s*\n\s*R?f?"', "", text)
        else:
            text = "\n".join(DIRECTIVE.findall(text))
        texts.append(" ".join(text.replace('\\"', '"').split()))
    return "\n".join(texts)


def check(root, exceptions=EXCEPTIONS):
    said = tests(root)
    found = list(messages(root))
    owners, longest = {}, {}
    for _, _, parts in found:
        for piece in {piece for part in parts for piece in pieces(part)}:
            owners.setdefault(piece, set()).add(parts)
        key = max(parts, key=len)
        longest[key] = longest.get(key, 0) + 1
    used = set()
    for name, number, parts in found:
        own = [piece for part in parts for piece in set(pieces(part)) if len(owners[piece]) == 1]
        key = max(parts, key=len)
        tested = any(piece in said for piece in own) if own else said.count(" ".join(key.split())) >= longest[key]
        text = " ... ".join(parts)
        excepted = [piece for piece, _ in exceptions if piece in text]
        used.update(excepted)
        if not tested and not excepted:
            yield f"{name}:{number}: \"{text}\", no test asserts this message"
        # Two words of it in a comment ("a call of") are no test of it.
        elif tested and any(piece in said for piece in excepted):
            yield f"{name}:{number}: \"{excepted[0]}\" is an exception, but a test asserts it"
    for piece, reason in exceptions:
        if piece not in used:
            yield f"test/lint/messages.py:1: exception \"{piece}\" is in no message"
        if not reason:
            yield f"test/lint/messages.py:1: exception \"{piece}\" has no reason"


def check_planted(root):
    return check(root, [("cannot happen here", "planted")])


THERE = {"runtime/z.cpp": 'return inputError("what cannot happen here");\n'}
CLEAN = {**THERE,
         "runtime/a.cpp": 'return inputError("the lake of \'" + name + "\' is dry, expected " "water");\n',
         "test/unit/a.cpp": 'EXPECT_EQ(message, "the lake of \'x\' is dry, "\n  "expected water");\n'}
PLANTED = [({"runtime/b.cpp": 'return refusedError(fmt::format("a gate of {} is stuck", 3));\n'}, "runtime/b.cpp:1"),
           ({"passes/b.cpp": '\nop.emitOpError() << "flows uphill, expected " << x;\n'}, "passes/b.cpp:2"),
           # Words of a different message do not count.
           ({"runtime/c.cpp": 'return inputError("is dry, expected " + x);\n'
                              'return inputError("is dry, expected " + y);\n'}, "runtime/c.cpp:1"),
           ({"test/unit/b.cpp": '"what cannot happen here"\n'}, "but a test asserts it"),
           # A comment is no assertion, nor is the input of a lit test.
           ({"runtime/d.cpp": 'return inputError("the gate rusts slowly");\n',
             "test/unit/d.cpp": "// the gate rusts slowly\n",
             "test/tools/d.test": "RUN: echo the gate rusts slowly\n"}, "runtime/d.cpp:1"),
           ({"runtime/z.cpp": "\n"}, "is in no message")]

if __name__ == "__main__":
    lint.main(check_planted if "--self-test" in __import__("sys").argv else check, CLEAN, PLANTED)
