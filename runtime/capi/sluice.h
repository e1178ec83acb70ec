//===- sluice.h - the C interface of the runtime -------------------------------------------===//
//
// Opens plans, describes them, and trains: no framework and no LLVM. C11. Functions of the compiler are in
// sluice_compiler.h, in a second library.
//
// Ownership: the caller frees what a function returns through a pointer to a pointer, with the function named at the
// type; NULL is accepted there. A tensor has its deleter. Texts are UTF-8 that ends with a zero byte. Errors: each
// function that can fail returns a status, NULL after success; outputs are then set, otherwise untouched (but see
// sluice_session_run). No function prints, ends the process or throws. Threads: a plan may be used by all threads; a
// session by one thread at a time, and a call while another thread is in one of its functions is an error of code 1.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_CAPI_SLUICE_H
#define SLUICE_RUNTIME_CAPI_SLUICE_H

#include <stddef.h>
#include <stdint.h>

/* DLPack 1.0, with the declarations of its header. */
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_

#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 0

typedef struct {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

#ifdef __cplusplus
typedef enum : int32_t {
#else
typedef enum {
#endif
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9,
  kDLROCM = 10,
  kDLROCMHost = 11,
  kDLExtDev = 12,
  kDLCUDAManaged = 13,
  kDLOneAPI = 14,
  kDLWebGPU = 15,
  kDLHexagon = 16,
  kDLMAIA = 17
} DLDeviceType;

typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

typedef enum {
  kDLInt = 0U,
  kDLUInt = 1U,
  kDLFloat = 2U,
  kDLOpaqueHandle = 3U,
  kDLBfloat = 4U,
  kDLComplex = 5U,
  kDLBool = 6U
} DLDataTypeCode;

typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

/* Strides are in elements; NULL: dense row-major. */
typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)

typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

#endif /* DLPACK_DLPACK_H_ */

#define SLUICE_API_VERSION 1

#if defined(__GNUC__)
#define SLUICE_API __attribute__((visibility("default")))
#else
#define SLUICE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library: its SLUICE_API_VERSION, and its name such as "0.1.0". */
SLUICE_API int sluice_api_version(void);
SLUICE_API const char *sluice_version(void);

/* --- Status: code, message and notes are those of the tools. --- */
typedef struct sluice_status sluice_status;
/* 0 for NULL; otherwise the exit code of the tools: 1 invalid input, 2 usage, 3 budget, 4 refused, 5 failed,
 * 70 a bug. */
SLUICE_API int sluice_status_code(const sluice_status *status);
SLUICE_API const char *sluice_status_message(const sluice_status *status);
SLUICE_API size_t sluice_status_note_count(const sluice_status *status);
SLUICE_API const char *sluice_status_note(const sluice_status *status, size_t index);
SLUICE_API void sluice_status_free(sluice_status *status);

/* Frees a text that a function returned. */
SLUICE_API void sluice_text_free(char *text);

/* --- Plan --- */
typedef struct sluice_plan sluice_plan;
/* Reads a plan and verifies its structure (not its properties: report "check"). From bytes: they are copied; `name`
 * is for messages. */
SLUICE_API sluice_status *sluice_plan_open(const char *path, sluice_plan **plan);
SLUICE_API sluice_status *sluice_plan_from_bytes(const void *data, size_t size, const char *name, sluice_plan **plan);
SLUICE_API void sluice_plan_free(sluice_plan *plan);
/* The bytes of the file; valid while the plan is. */
SLUICE_API void sluice_plan_bytes(const sluice_plan *plan, const void **data, size_t *size);
/* The output of `sluice-plan REPORT --json`, with the same names: "check", "describe", "memory", "schedule", "explain";
 * "memory.html" is the page of `memory --html`; "account:fsdp1", "account:fsdp2" of `memory --account`. `check` of a
 * plan with a violated property is an error of code 4. */
SLUICE_API sluice_status *sluice_plan_report(const sluice_plan *plan, const char *report, char **text);

/* --- Session: a plan, its ranks and their memory --- */
typedef struct sluice_session sluice_session;
/* Checks the plan, starts the ranks, initializes parameters or continues from a checkpoint. `options` is a JSON object
 * or NULL; an unknown member is an error that names the nearest known one:
 *   "seed": 0, "threads": 0 (of a rank; 0: the plan's), "entries": [] (those whose memory is allocated; []: all),
 *   "init": "" (weights: safetensors, folder or .pt2), "require_proof": false,
 *   "checkpoint": "" (folder), "every": 500, "keep": 0, "resume": "auto"|"none"|PATH,
 *   "steps": 0 (of the complete run, for a learning-rate schedule without total_steps),
 *   "launch": "auto" (under torchrun, mpirun or srun this process is one rank)|"local"|"mpi"|"socket",
 *   "join_seconds": 60, "watchdog_seconds": 25
 * The plan may be freed before the session. */
SLUICE_API sluice_status *sluice_session_open(const sluice_plan *plan, const char *options, sluice_session **session);
/* Completes the update of the last step and the checkpoint that is being written, and returns their error. After it,
 * only sluice_session_describe, which then has the last notes, and sluice_session_free are used; other functions are
 * errors of code 1, and a second call has no effect. */
SLUICE_API sluice_status *sluice_session_close(sluice_session *session);
/* Closes the session, without an error, if sluice_session_close was not called; ends the ranks and frees the session.
 * Memory of views remains until the last is released. */
SLUICE_API void sluice_session_free(sluice_session *session);
/* JSON: {"world", "ranks": [those of this process], "data_ranks" (number of data-parallel ranks whose rows this process
 * gives), "step", "updates", "entries": [{"name", "trains", "inputs": [{"name", "role", "dtype", "shape" (as
 * sluice_session_set_input takes it), "limit"}], "outputs": [...]}], "parameters": [{"name", "dtype", "shape"}],
 * "states": [...], "notes": [text]} */
SLUICE_API sluice_status *sluice_session_describe(sluice_session *session, char **json);

/* Copies the rows of the next step into an input of an entry point. The first dim of `tensor` is micro-batches times
 * data-parallel ranks of this process times rows of a micro-batch, in this order, as `--order sequential` reads them;
 * the others are those of the port. The element type must be the port's; i64 and i32 convert into each other if every
 * value fits and is below the port's limit, f64 to f32, and no others. The tensor is in CPU memory, with any strides.
 */
SLUICE_API sluice_status *sluice_session_set_input(sluice_session *session, const char *entry, const char *input,
                                                   const DLTensor *tensor);

/* Results of a run. NaN where the entry point has no such output. */
typedef struct sluice_step {
  uint64_t step;     /* completed steps of the run, from 1; unchanged by entry points that do not train */
  double loss;       /* mean over the rows of all ranks */
  double grad_norm;  /* before clipping */
  double lr;         /* the rate of this step; NaN if nothing is trained */
  double loss_scale; /* 1 without one */
  int32_t applied;   /* 1 after an update; 0 without one: a smaller loss scale follows, or nothing is trained */
} sluice_step;
/* Runs an entry point on all ranks, after each of its inputs was set once; the inputs must be set again for the next
 * run. `lr`: the learning rate; NaN: that of the plan's schedule. An entry point that trains counts as a step, and a
 * checkpoint follows where it is due: if it cannot be written, the step is complete, `result` is set, and the error is
 * that of the checkpoint. A loss or norm that is not finite is an error of code 5; then the step is not counted, and
 * the session remains usable. The weights are those before the step if the plan has a guard; without one
 * (optimizer.in_backward) they are not, as a note states. With ranks as processes, all call this function in the same
 * order. */
SLUICE_API sluice_status *sluice_session_run(sluice_session *session, const char *entry, double lr,
                                             sluice_step *result);
/* Copies an output of the entry point that ran last, of the data-parallel ranks of this process, concatenated as inputs
 * are. An output with one value for all ranks, such as the loss, is not concatenated. */
SLUICE_API sluice_status *sluice_session_get_output(sluice_session *session, const char *entry, const char *output,
                                                    DLManagedTensorVersioned **tensor);

/* A copy of a parameter or state, unsharded, by its name in sluice_session_describe, which is that in checkpoints: "P",
 * "optimizer.state.P.exp_avg", "rank0.running_mean". With ranks as processes all call it, and all get it. */
SLUICE_API sluice_status *sluice_session_read(sluice_session *session, const char *name,
                                              DLManagedTensorVersioned **tensor);
/* Replaces it; shape and type are those of sluice_session_describe. With ranks as processes all call it. */
SLUICE_API sluice_status *sluice_session_write(sluice_session *session, const char *name, const DLTensor *tensor);
/* The shard of a rank of this process in its arena, without padding, writable; shows current values after each run.
 * Only for CPU plans. The holder does not use it during a run. Valid after sluice_session_free too. */
SLUICE_API sluice_status *sluice_session_view(sluice_session *session, const char *name, int rank,
                                              DLManagedTensorVersioned **tensor);

/* A further reference to the memory of a tensor that this library returned: a DLManagedTensorVersioned, or a
 * DLManagedTensor if `versioned` is 0. The caller calls the deleter of each. NULL without memory. Thread-safe. */
SLUICE_API void *sluice_tensor_share(const DLManagedTensorVersioned *tensor, int versioned);
/* The destructor of a capsule of Python that is named "dltensor" or "dltensor_versioned": calls the deleter of its
 * tensor. Needs no code of Python, so that a set exception remains. No effect without Python in the process. */
SLUICE_API void sluice_capsule_free(void *capsule);

/* Reads weights as `--init` does; writes model.safetensors and config.json as `--save` does (options: {"dtype":
 * "f32"|"bf16"} or NULL). */
SLUICE_API sluice_status *sluice_session_load(sluice_session *session, const char *path);
SLUICE_API sluice_status *sluice_session_save(sluice_session *session, const char *folder, const char *options);
/* Writes a checkpoint now, and waits for it. The session was opened with "checkpoint". */
SLUICE_API sluice_status *sluice_session_checkpoint(sluice_session *session);
/* Appends `count` tokens to a prompt of tokens, by the entry point "logits". options: {"temperature": 1, "top_k": 0,
 * "seed": 0, "stop": [ids]} or NULL. `tokens` has room for `count`; `written` receives how many were generated. */
SLUICE_API sluice_status *sluice_session_generate(sluice_session *session, const int64_t *prompt, size_t promptSize,
                                                  size_t count, const char *options, int64_t *tokens, size_t *written);

#ifdef __cplusplus
}
#endif
#endif // SLUICE_RUNTIME_CAPI_SLUICE_H
