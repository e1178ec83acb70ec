# Several processes of a run or a test, for the scripts of the bundle that source this file.

# world N COMMAND...: one process per rank, as torchrun starts them.
world() {
  local size=$1 port=$((20000 + RANDOM % 20000)) code=0 rank processes=()
  shift
  for ((rank = 0; rank < size; ++rank)); do
    RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$size LOCAL_WORLD_SIZE=$size MASTER_ADDR=localhost MASTER_PORT=$port "$@" &
    processes+=($!)
  done
  for process in "${processes[@]}"; do wait "$process" || code=$?; done
  return "$code"
}

# numericOn DEVICE: the numeric tests with the plans that were kept for it, in as many processes as there are processors.
numericOn() {
  local shards shard code=0 logs processes=()
  shards=$(nproc)
  logs=$(mktemp -d)
  for ((shard = 0; shard < shards; ++shard)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard SLUICE_TOOLS=$here/kept/tools SLUICE_KEPT=$here/kept SLUICE_DEVICE=$1 \
      SLUICE_REFERENCE=$here/reference numeric --gtest_brief=1 --gtest_filter="$(cat "$here/kept/filter")" > "$logs/$shard" 2>&1 &
    processes+=($!)
  done
  for process in "${processes[@]}"; do wait "$process" || code=$?; done
  cat "$logs"/*
  rm -r "$logs"
  return "$code"
}
