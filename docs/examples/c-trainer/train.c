/* Trains a plan of tokens and targets on the bytes of a text, and saves the weights: train PLAN STEPS FOLDER. */
#include "sluice/sluice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char text[] = "the quick brown fox jumps over the lazy dog, and the slow red fox sleeps; ";

/* Ends with the exit code of the tools after an error. */
static void check(sluice_status *status) {
  const int code = sluice_status_code(status);
  if (code == 0)
    return;
  fprintf(stderr, "error: %s\n", sluice_status_message(status));
  for (size_t i = 0; i < sluice_status_note_count(status); ++i)
    fprintf(stderr, "note: %s\n", sluice_status_note(status, i));
  sluice_status_free(status);
  exit(code);
}

/* Rows of bytes of the text, of which row r begins at byte `first` + r * length. */
static void set_rows(sluice_session *session, const char *input, int64_t rows, int64_t length, int64_t first) {
  int32_t *values = malloc(sizeof *values * (size_t)(rows * length));
  int64_t shape[2] = {rows, length};
  DLTensor tensor = {0};
  if (!values)
    exit(1);
  for (int64_t i = 0; i < rows * length; ++i)
    values[i] = text[(size_t)(first + i) % (sizeof text - 1)];
  tensor.data = values;
  tensor.device.device_type = kDLCPU;
  tensor.ndim = 2;
  tensor.dtype.code = kDLInt;
  tensor.dtype.bits = 32;
  tensor.dtype.lanes = 1;
  tensor.shape = shape;
  check(sluice_session_set_input(session, "train_step", input, &tensor));
  free(values);
}

int main(int argc, char **argv) {
  sluice_plan *plan = NULL;
  sluice_session *session = NULL;
  sluice_step step;
  if (argc != 4) {
    fprintf(stderr, "usage: train PLAN STEPS FOLDER\n");
    return 2;
  }
  check(sluice_plan_open(argv[1], &plan));
  check(sluice_session_open(plan, "{\"seed\": 1}", &session));
  sluice_plan_free(plan);
  /* The plan of this example has 2 micro-batches of 2 rows on each of 2 ranks, and rows of 16 tokens:
   * sluice_session_describe states it. */
  const int64_t rows = 2 * 2 * 2, length = 16;
  for (int64_t i = 0; i < atoi(argv[2]); ++i) {
    set_rows(session, "tokens", rows, length, i * rows * length);
    set_rows(session, "targets", rows, length, i * rows * length + 1);
    check(sluice_session_run(session, "train_step", NAN, &step));
    printf("step %d loss %.9g\n", (int)step.step, step.loss);
  }
  check(sluice_session_save(session, argv[3], NULL));
  sluice_session_free(session);
  return 0;
}
