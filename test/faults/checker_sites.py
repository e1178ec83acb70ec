"""The places of the plan checker that can end in a refusal, and sources in which the environment variable SLUICE_MUTANT switches off one of them.

The sites are found in the text, which clang-format keeps regular:
  refusal    a return of a refusal, a SLUICE_CHECK, a refusal that is kept in a variable; the mutant continues as if there was nothing to refuse
  exit       a guarded return of false, true or nullopt in a helper; the mutant does not return
  operand    an operand of || is false, an operand of && is true, in the condition of a refusal or the value of a predicate
  limit      < is <=, > is >=, and the reverse, in the same conditions
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ("runtime/plan/Checker.cpp", "runtime/plan/Reader.cpp", "runtime/plan/Payload.cpp", "runtime/plan/Plan.cpp", "runtime/plan/check/*.cpp",
         "runtime/plan/check/proof/*.cpp")

HEADER = """#pragma once
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
// The types of literals are those of the parameters of compareAtSite().
#pragma GCC diagnostic ignored "-Wsign-compare"
/// The sites whose mutants a test distinguishes, which it writes at its end to the file of the environment variable.
struct ReachedSites {
  std::set<int> sites;
  const char *file = std::getenv("SLUICE_MUTANT_REACHED");
  ~ReachedSites() {
    if (std::FILE *out = file ? std::fopen(file, "w") : nullptr) {
      for (int site : sites)
        std::fprintf(out, "%d\\n", site);
      std::fclose(out);
    }
  }
};
/// True for the site that the environment variable names. Is called only where the mutant decides differently.
inline bool isMutant(int site) {
  static const int mutant = std::getenv("SLUICE_MUTANT") ? std::atoi(std::getenv("SLUICE_MUTANT")) : -1;
  static ReachedSites reached;
  if (reached.file)
    reached.sites.insert(site);
  return site == mutant;
}
/// A comparison that the mutant decides differently for equal operands.
template <typename Compare> bool compareAtSite(int site, const auto &left, const auto &right) {
  return Compare()(left, right) != (left == right && isMutant(site));
}
/// True for a result of a check that refuses.
template <typename T> bool refusesAtSite(const T &result) {
  if constexpr (requires { result.isOk(); })
    return !result.isOk();
  else if constexpr (requires { result.has_value(); })
    return result.has_value();
  else
    return true;
}
#define SLUICE_CHECK_SITE(site, expression)                                                                            \\
  do {                                                                                                                 \\
    if (::sluice::check::Verdict verdict_ = (expression); verdict_ && !isMutant(site))                                 \\
      return verdict_;                                                                                                 \\
  } while (false)
"""


def masked(text):
    """The text at the same offsets, with spaces for comments and preprocessor lines and underscores for literals."""
    blank = lambda match: re.sub(r"[^\n]", "_" if match[0][0] in "\"'" else " ", match[0])
    return re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z])\'(?:\\.|[^\'\\\n])\'|^#(?:[^\n]*\\\n)*[^\n]*', blank, text, flags=re.M)


def closing(text, begin):
    """The offset of the bracket that closes the one at `begin`."""
    depth = 0
    for at in range(begin, len(text)):
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
            if depth == 0:
                return at
    raise ValueError(f"no closing bracket: {text[begin:begin + 80]}")


def top_level(text, begin, end, pattern):
    """The matches of a pattern in [begin, end) that are in no bracket."""
    found, at = [], begin
    while at < end:
        if text[at] in "([{":
            at = closing(text, at) + 1
            continue
        if match := re.compile(pattern).match(text, at, end):
            found.append(match)
            at = match.end()
        else:
            at += 1
    return found


def stripped(text, begin, end):
    while begin < end and text[begin].isspace():
        begin += 1
    while begin < end and text[end - 1].isspace():
        end -= 1
    return begin, end


class Source:
    def __init__(self, name, first):
        self.name = name
        self.text = (ROOT / name).read_text()
        self.code = masked(self.text)
        self.next = first
        # (offset, order of those at one offset, bytes that are replaced, text); (number, kind, begin, end) of each site; the site of the return whose
        # condition a site is in.
        self.edits, self.sites, self.owner = [], [], {}
        self.refusing = self.names_that_refuse()
        self.find_checks()
        self.find_returns()
        self.find_assignments()
        self.find_mismatches()

    def names_that_refuse(self):
        headers = [masked(path.read_text()) for path in sorted((ROOT / self.name).parent.glob("*.h"))]
        named = re.findall(r"\b(?:Verdict|Status) (?:\w+::)*(\w+)\(", "".join(headers + [self.code]))
        bodies = {match[1]: self.code[match.end():closing(self.code, self.code.index("{", match.end()))] for match in re.finditer(r"const auto (\w+) = \[", self.code)}
        lambdas = [name for name, body in bodies.items() if re.search(r"refuse\(|-> Verdict", body)]
        # Of these the ones that keep the refusal.
        self.void = {name for name in lambdas if not re.search(r"return |-> ", bodies[name])}
        members = ["visit", "run"] if "/check/" in self.name else []
        return set(named + lambdas + members + ["refuse", "bad", "unordered", "refusedError", "inputError"])

    def site(self, kind, begin, end):
        self.sites.append((self.next, kind, begin, end))
        self.next += 1
        return self.next - 1

    def wrap(self, begin, end, before, after, replaced=0):
        """Inserts `before`, in place of a number of characters, and `after`. At one offset inner texts end first and outer ones begin first."""
        self.edits.append((begin, (1, begin - end), replaced, before))
        self.edits.append((end, (0, end - begin), 0, after))

    def refuses(self, begin, end):
        return any(name in self.refusing for name in re.findall(r"\b(\w+)\(", self.code[begin:end]))

    def find_checks(self):
        for match in re.finditer(r"\bSLUICE_CHECK\(", self.code):
            end = closing(self.code, match.end() - 1)
            number = self.site("refusal", match.start(), end + 1)
            self.wrap(match.start(), end, f"SLUICE_CHECK_SITE({number}, ", "", len(match[0]))

    def find_returns(self):
        for match in re.finditer(r"\breturn\b ?", self.code):
            end = top_level(self.code, match.end(), len(self.code), ";")[0].start()
            begin, value = match.start(), self.code[match.end():end]
            condition = self.guard(begin)
            if self.refuses(match.end(), end) and not value.startswith("Refusal"):
                number = self.site("refusal", begin, end)
                if value.partition("(")[0] in self.void:
                    self.wrap(begin, end + 1, f"{{ if (!isMutant({number})) ", f"{'' if condition else ' return;'} }}")
                    if condition:
                        self.weaken(*condition, number)
                    continue
                result = f"result_{number}"
                after = (f" if (!isMutant({number})) return {result}; }}" if condition else
                         f" if (!refusesAtSite({result}) || !isMutant({number})) return {result}; return decltype({result})(); }}")
                self.wrap(begin, end + 1, f"{{ auto {result} = ", after, len(match[0]))
                if condition:
                    self.weaken(*condition, number)
            elif condition and re.fullmatch(r"(std::)?(nullopt|false|true)", value):
                number = self.site("exit", condition[0], end)
                self.wrap(begin, end + 1, f"{{ if (!isMutant({number})) ", " }")
                self.weaken(*condition, number)
            elif top_level(self.code, match.end(), end, r"&&|\|\|") and not top_level(self.code, match.end(), end, r"\?|\["):
                self.weaken(match.end(), end)

    def find_assignments(self):
        for match in re.finditer(r"\b[\w.]*(?:verdict|refusal) = ", self.code):
            if not self.code[:match.start()].rstrip().endswith((";", "{", "}", ")", "else")):
                continue
            end = top_level(self.code, match.end(), len(self.code), ";")[0].start()
            if self.refuses(match.end(), end):
                number = self.site("refusal", match.start(), end)
                self.wrap(match.start(), end + 1, f"if (!isMutant({number})) ", "")

    def find_mismatches(self):
        """The conditions of `mismatch = ...`, with which the proof refuses. Those with `true` at the end leave a property not proved."""
        found = set()
        for match in re.finditer(r"\bmismatch(?:\.text)? = ", self.code):
            end = top_level(self.code, match.end(), len(self.code), ";")[0].start()
            condition = self.guard(match.start()) or self.guard(self.block(match.start()))
            if not condition or condition in found or re.search(r", true\s*}$", self.code[:end]):
                continue
            found.add(condition)
            number = self.site("refusal", match.start(), end)
            first, last = condition
            if first == last:
                first = self.code.rindex(" = ", 0, last) + 3
                self.wrap(first, last, f"(isMutant({number}) ? 0 : (", "))")
            else:
                self.wrap(first, last, "((", f") && !isMutant({number}))")
                self.weaken(first, last, number)

    def block(self, begin):
        """The offset of the { of the block that this offset is in."""
        depth = 0
        for at in range(begin - 1, -1, -1):
            depth += {"}": 1, "{": -1}.get(self.code[at], 0)
            if depth < 0:
                return at
        return 0

    def guard(self, begin):
        """The condition of the `if` whose only statement begins here; None in other places."""
        before = self.code[:begin].rstrip()
        if not before.endswith(")"):
            return None
        depth, at = 0, len(before)
        while True:
            at -= 1
            depth += {")": 1, "(": -1}.get(before[at], 0)
            if depth == 0:
                break
        if not re.search(r"\bif $", before[:at]):
            return None
        first = at + 1
        parts = top_level(self.code, first, len(before) - 1, ";")
        if parts:
            first = parts[-1].end()
        elif top_level(self.code, first, len(before) - 1, r"(?<![=!<>])=(?!=)"):
            return len(before) - 1, len(before) - 1
        return first, len(before) - 1

    def weaken(self, begin, end, owner=None):
        begin, end = stripped(self.code, begin, end)
        if begin >= end or top_level(self.code, begin, end, r"\?"):
            return
        for operator, mutated in ((r"\|\|", ") && !isMutant({}))"), ("&&", ") || isMutant({}))")):
            breaks = top_level(self.code, begin, end, operator)
            if not breaks:
                continue
            for first, last in zip([begin] + [b.end() for b in breaks], [b.start() for b in breaks] + [end]):
                first, last = stripped(self.code, first, last)
                number = self.site("operand", first, last)
                self.owner[number] = owner
                self.wrap(first, last, "((", mutated.format(number))
                self.weaken(first, last, owner)
            return
        if self.code[begin] == "(" and closing(self.code, begin) == end - 1:
            self.weaken(begin + 1, end - 1, owner)
        elif self.code[begin:begin + 2] == "!(" and closing(self.code, begin + 1) == end - 1:
            self.weaken(begin + 2, end - 1, owner)
        elif len(compared := top_level(self.code, begin, end, r" (<=|>=|<|>) ")) == 1:
            number = self.site("limit", begin, end)
            self.owner[number] = owner
            compare = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}[compared[0][1]]
            self.wrap(begin, end, f"compareAtSite<std::{compare}<>>({number}, ", ")")
            self.edits.append((compared[0].start(), (1, 0), len(compared[0][0]), ", "))

    def mutated(self):
        pieces, last = ['#include "runtime/plan/check/Mutant.h"\n'], 0
        for offset, _, replaced, inserted in sorted(self.edits, key=lambda edit: edit[:2]):
            pieces += [self.text[last:offset], inserted]
            last = offset + replaced
        return "".join(pieces) + self.text[last:]

    def line(self, offset):
        return self.text.count("\n", 0, offset) + 1


def find_sources():
    sources, first = [], 0
    for pattern in FILES:
        for path in sorted(ROOT.glob(pattern)):
            sources.append(Source(str(path.relative_to(ROOT)), first))
            first = sources[-1].next
    return sources
