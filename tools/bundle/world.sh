# The processes of a run, for the scripts of the bundle that source this file.

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
