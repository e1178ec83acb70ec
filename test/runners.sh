# Functions that run tests with a time limit. Sourced by run.sh and ci.sh.
# The results of the tests that have ended by then, and the names of the others, are in files that summary.py reads.

# run_ctest OUTPUT LIMIT JOBS BUILD [OPTION...]: tests of GoogleTest programs, with results in OUTPUT.xml, OUTPUT.log and OUTPUT.json.
run_ctest() {
  local output=$1 limit=$2 jobs=$3 build=$4
  shift 4
  ctest --test-dir "$build" --show-only=json-v1 "$@" > "$output.json"
  # ctest takes a time of the day. It ends the tests that run at that time and starts no more.
  ctest --test-dir "$build" --parallel "$jobs" --timeout "$limit" --stop-time "$(date -d "+$limit seconds" +%H:%M:%S)" \
    --output-junit "$output.xml" "$@" > "$output.log" 2>&1 || true
}

# run_lit OUTPUT LIMIT JOBS PATH...: lit tests, with results in OUTPUT.xml. PATH may be an option of lit.
run_lit() {
  local output=$1 limit=$2 jobs=$3
  shift 3
  # testformat.py ends the tests. If lit does not end a minute later, it has no results, and that is a failure.
  timeout $((limit + 60)) /usr/lib/llvm-22/bin/lit -q -j "$jobs" --param "limit=$limit" --xunit-xml-output "$output.xml" "$@" \
    > "$output.log" 2>&1 || true
}
