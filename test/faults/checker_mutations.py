"""Switches off each refusal of the plan checker and the plan reader, one at a time, and expects a unit test to fail.

usage: python3 test/faults/checker_mutations.py [--list] [--file NAME] [--folder FOLDER]

A copy of the sources is built once, with a condition on the environment variable SLUICE_MUTANT at each site. Each test of its unit-plan, unit-proof and
unit-compiled-plans runs once and lists the sites where a mutant decides differently; then these tests run with the mutant of each site until one fails.
Plans are compiled by the build in $SLUICE_BUILD, else build/.
--list prints the sites without a build. --file takes the sites of one file, for example Updates.cpp. --folder keeps the copy and its build in a folder. Exits 1
if a site survives: no test fails without it.

The sites are found in the text, which clang-format keeps regular:
  refusal    a return of a refusal, a SLUICE_CHECK, a refusal that is kept in a variable; the mutant continues as if there was nothing to refuse
  exit       a guarded return of false, true or nullopt in a helper; the mutant does not return
  operand    an operand of || is false, an operand of && is true, in the condition of a refusal or the value of a predicate
  limit      < is <=, > is >=, and the reverse, in the same conditions
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ("runtime/plan/Checker.cpp", "runtime/plan/Reader.cpp", "runtime/plan/Payload.cpp", "runtime/plan/Plan.cpp", "runtime/plan/check/*.cpp",
         "runtime/plan/check/proof/*.cpp")
# Slow tests of memory and random plans are left out.
PROGRAMS = {"unit-plan": "-Fuzz.*:Allocation.*", "unit-proof": "*", "unit-compiled-plans": "*"}
# Tests of a site that run one by one before the others.
FIRST = 3
# Address space of a test program: a mutant may allocate without an end.
MOST_BYTES = 4 << 30

# Sites without which the checker decides the same: (file, kind, text of the site): reason.
REDUNDANT = "the next call checks the same"
GATHERED = "a buffer is gathered exactly if it has a unit, and does not persist (P4, P8)"
EQUIVALENT = {
    ("runtime/plan/Checker.cpp", "operand", "buffer->class_ == plan::BufferClass::gathered"): GATHERED,
    ("runtime/plan/Checker.cpp", "operand", "buffer->unit >= 0"): GATHERED,
    ("runtime/plan/Checker.cpp", "limit", "buffer->unit >= 0"): GATHERED,
    ("runtime/plan/Reader.cpp", "operand", "root % sizeof(flatbuffers::uoffset_t) != 0"): REDUNDANT,
    ("runtime/plan/Reader.cpp", "operand", "!verifier.Verify(root, sizeof(flatbuffers::soffset_t))"): REDUNDANT,
    ("runtime/plan/Reader.cpp", "exit",
     "root % sizeof(flatbuffers::uoffset_t) != 0 || !verifier.Verify(root, sizeof(flatbuffers::soffset_t))) return std::nullopt"): REDUNDANT,
    ("runtime/plan/Payload.cpp", "exit", "!take(std::uint64_t(items->size()) * sizeof(flatbuffers::uoffset_t))) return false"):
        "the bytes stay counted, and a later string or list is refused",
    ("runtime/plan/Plan.cpp", "operand", "parameter.dim >= 0"): "no number of dims is -1",
    ("runtime/plan/Plan.cpp", "limit", "parameter.dim >= 0"): "a sharded parameter has a dim (P1)",
    ("runtime/plan/check/Check.cpp", "operand", "aBytes == 0"): "operands without bytes are not compared",
    ("runtime/plan/check/Check.cpp", "operand", "bBytes == 0"): "operands without bytes are not compared",
    ("runtime/plan/check/Declarations.cpp", "operand", "instruction.unit >= 0"): "parts are gathered without a unit (P8)",
    ("runtime/plan/check/Declarations.cpp", "limit", "instruction.unit >= 0"): "parts are gathered without a unit (P8)",
    ("runtime/plan/check/Operands.cpp", "limit", "++interleaved > maxInterleaved * operands.size()"): "the limit of work, by one pair of operands",
    ("runtime/plan/check/WellFormedCode.cpp", "limit", "followed > maxFollowed"): "the limit of work, by one instruction of 67 million",
    ("runtime/plan/check/Operands.cpp", "operand", "plan.buffers[a.buffer]->space == plan.buffers[b.buffer]->space"):
        "the operands of a launch or collective are in one space (P1)",
    ("runtime/plan/check/Replicas.cpp", "refusal", "return write(*fill->destination, 0, i)"): "a constant is equal on all ranks",
    ("runtime/plan/check/GatheredBuffers.cpp", "operand", "record.entry != -1"): GATHERED,
    ("runtime/plan/check/GatheredBuffers.cpp", "operand", "record.class_ == plan::BufferClass::gathered"): GATHERED,
    ("runtime/plan/check/GatheredBuffers.cpp", "operand", "record.unit >= 0"): GATHERED,
    ("runtime/plan/check/GatheredBuffers.cpp", "limit", "record.unit >= 0"): GATHERED,
    ("runtime/plan/check/State.cpp", "refusal",
     'SLUICE_CHECK(add({parameter->name, ""}, {parameter->dtype, parameter->shape, parameter->buffer}))'): "names of parameters are distinct (P1)",
    ("runtime/plan/check/WellFormedCode.cpp", "refusal", 'return site.bad("unknown operation")'): "an unknown operation of a file has no value",
}

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


def write(path, data):
    """Leaves a file that has these bytes unchanged, so that it is not built again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != data:
        path.write_bytes(data)


def build(sources, folder):
    """The folder of the test programs of a copy of the sources with all sites."""
    tracked = subprocess.run(["git", "ls-files", "-z", "CMakeLists.txt", "runtime", "passes/solver", "tools", "test"], cwd=ROOT, check=True, capture_output=True, text=True)
    names = tracked.stdout.split("\0")
    # A kept folder may have files that were removed since.
    for path in folder.glob("[!b]*/**/*.*"):
        if path.is_file() and str(path.relative_to(folder)) not in names:
            path.unlink()
    mutated = {source.name: source.mutated().encode() for source in sources}
    for name in names:
        if name and (ROOT / name).is_file():
            write(folder / name, mutated.get(name) or (ROOT / name).read_bytes())
    write(folder / "runtime/plan/check/Mutant.h", HEADER.encode())
    environment = dict(os.environ, CCACHE_BASEDIR=str(folder), CCACHE_NOHASHDIR="1")
    tools = pathlib.Path(os.environ.get("SLUICE_BUILD", ROOT / "build")) / "bin"
    if not (tools / "sluice-compile").exists():
        sys.exit(f"error: '{tools}/sluice-compile' does not exist: build the compiler first")
    settings = (f"-DSLUICE_TOOLS={tools}", "-DSLUICE_COMPILER=OFF", "-DSLUICE_BENCHMARKS=OFF", "-DSLUICE_CUDA=OFF", "-DSLUICE_TOKENIZERS=OFF",
                "-DCMAKE_CXX_FLAGS=-D_GLIBCXX_ASSERTIONS")
    for command in (["cmake", "-G", "Ninja", "-S", ".", "-B", "build", *settings], ["ninja", "-C", "build", *PROGRAMS]):
        done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            sys.exit(f"error: '{' '.join(command)}' failed in the copy\n{done.stdout[-8000:]}")
    # Plans of an older compiler are compiled again.
    plans = folder / "build/plans"
    shutil.rmtree(plans, ignore_errors=True)
    plans.mkdir()
    return folder / "build/bin"


def run(program, tests, seconds, **variables):
    """True if the tests pass, which take `seconds` without a mutation. A crash, a test without an end and one that takes all memory are failures."""
    # Tests write files, and several run at once.
    with tempfile.TemporaryDirectory(prefix="checker-mutations-") as scratch:
        environment = dict(os.environ, TEST_TMPDIR=scratch, TMPDIR=scratch, SLUICE_KEPT_PLANS=str(program.parent.parent / "plans"), **variables)
        command = ["prlimit", f"--as={MOST_BYTES}", program, "--gtest_fail_fast", "--gtest_brief=1", "--gtest_filter=" + ":".join(tests)]
        try:
            return subprocess.run(command, env=environment, timeout=30 + 20 * seconds, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL).returncode == 0
        except subprocess.TimeoutExpired:
            return False


def tests_of(program, selection):
    listed = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={selection}"], check=True, capture_output=True, text=True).stdout
    suite = ""
    for line in listed.splitlines():
        name = line.partition("#")[0].rstrip()
        if name.startswith("  "):
            yield suite + name.strip()
        elif name.endswith("."):
            suite = name


class Tests:
    """The tests that distinguish the mutant of each site: those in which it decides differently. All other tests are the same with it."""

    def __init__(self, folder, pool):
        self.folder, self.seconds, self.of_site = folder, {}, {}
        tests = [(name, test) for name, selection in PROGRAMS.items() for test in tests_of(folder / name, selection)]
        for test, sites in zip(tests, pool.map(self.reached, tests)):
            for site in sites:
                self.of_site.setdefault(site, set()).add(test)

    def reached(self, test):
        """The sites of one test, which must pass."""
        with tempfile.NamedTemporaryFile(prefix="checker-mutations-") as file:
            start = time.monotonic()
            # The first test of a plan compiles it.
            if not run(self.folder / test[0], [test[1]], 30, SLUICE_MUTANT="-1", SLUICE_MUTANT_REACHED=file.name):
                sys.exit(f"error: {test[0]} {test[1]} fails without any mutation")
            self.seconds[test] = time.monotonic() - start
            return [int(line) for line in pathlib.Path(file.name).read_text().split()]

    def survives(self, site, owner):
        """True if all tests pass with the mutant. Short tests come first, before them those of the refusal whose condition the site is in."""
        of_owner = self.of_site.get(owner, set())
        tests = sorted(self.of_site.get(site, ()), key=lambda test: (test not in of_owner, self.seconds[test]))
        programs = {}
        for name, test in tests[FIRST:]:
            programs.setdefault(name, []).append(test)
        for name, group in [(name, [test]) for name, test in tests[:FIRST]] + list(programs.items()):
            seconds = sum(self.seconds[name, test] for test in group)
            if not run(self.folder / name, group, seconds, SLUICE_MUTANT=str(site)):
                return False
        return True


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--file", default="")
    parser.add_argument("--folder", type=pathlib.Path)
    options = parser.parse_args()
    sources = find_sources()
    sites = [(source, *site) for source in sources if source.name.endswith(options.file) for site in source.sites]
    text_of = lambda source, begin, end: " ".join(source.text[begin:end].split())
    if options.list:
        found = set()
        for source, number, kind, begin, end in sites:
            print(f"{source.name}:{source.line(begin)}: {kind}: {text_of(source, begin, end)}")
            found.add((source.name, kind, text_of(source, begin, end)))
        missing = [] if options.file else sorted(set(EQUIVALENT) - found)
        for name, kind, text in missing:
            print(f"{name}: is listed as equivalent, but does not exist: {kind}: {text}")
        return 1 if missing else 0
    with tempfile.TemporaryDirectory(prefix="checker-mutations-") as scratch:
        programs = build(sources, options.folder or pathlib.Path(scratch))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            tests = Tests(programs, pool)
            alive = pool.map(lambda site: tests.survives(site[1], site[0].owner.get(site[1])), sites)
            count, survivors, equivalent, unused = {}, 0, 0, set(EQUIVALENT) if not options.file else set()
            for (source, number, kind, begin, end), lives in zip(sites, alive):
                killed, all_of_kind = count.get(kind, (0, 0))
                count[kind] = killed + (not lives), all_of_kind + 1
                text = text_of(source, begin, end)
                if lives and (source.name, kind, text) in EQUIVALENT:
                    unused.discard((source.name, kind, text))
                    equivalent += 1
                elif lives:
                    survivors += 1
                    unreached = "" if number in tests.of_site else ", it decides no test"
                    print(f"{source.name}:{source.line(begin)}: survives{unreached}: {kind}: {text[:160]}", flush=True)
    for name, kind, text in sorted(unused):
        print(f"{name}: is listed as equivalent, but a test fails or it does not exist: {kind}: {text}")
    print(f"{len(sites)} sites: " + ", ".join(f"{kind} {killed} of {total} killed" for kind, (killed, total) in count.items()) +
          f", {survivors} survive, {equivalent} equivalent")
    return 1 if survivors or unused else 0


if __name__ == "__main__":
    sys.exit(main())
