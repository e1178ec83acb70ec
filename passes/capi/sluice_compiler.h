//===- sluice_compiler.h - the C interface of the compiler ---------------------------------===//
//
// Imports models and compiles them to plans, without processes and files. The library libsluice-compiler contains MLIR
// and does not depend on libsluice: plans pass between the two as bytes, and each library frees the statuses and texts
// that it returned. C11. Ownership, errors and texts are as in sluice.h. Threads: a model by one thread at a time;
// different models by different threads.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_CAPI_SLUICE_COMPILER_H
#define SLUICE_PASSES_CAPI_SLUICE_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#define SLUICE_COMPILER_API_VERSION 1

#ifndef SLUICE_API
#if defined(__GNUC__)
#define SLUICE_API __attribute__((visibility("default")))
#else
#define SLUICE_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library: its SLUICE_COMPILER_API_VERSION, and its name such as "0.1.0". */
SLUICE_API int sluice_compiler_api_version(void);
SLUICE_API const char *sluice_compiler_version(void);

/* --- Status: as sluice_status. --- */
typedef struct sluice_compiler_status sluice_compiler_status;
SLUICE_API int sluice_compiler_status_code(const sluice_compiler_status *status);
SLUICE_API const char *sluice_compiler_status_message(const sluice_compiler_status *status);
SLUICE_API size_t sluice_compiler_status_note_count(const sluice_compiler_status *status);
SLUICE_API const char *sluice_compiler_status_note(const sluice_compiler_status *status, size_t index);
SLUICE_API void sluice_compiler_status_free(sluice_compiler_status *status);

/* Frees a text, and the bytes of a plan, that a function returned. */
SLUICE_API void sluice_compiler_text_free(char *text);
SLUICE_API void sluice_compiler_bytes_free(void *bytes);

/* --- Model: a module of the model dialect --- */
typedef struct sluice_model sluice_model;
/* `kind`: "mlir" (text), "hf" (config.json, or its folder), "export" (a .pt2 archive), "zoo" (a name), or "auto" (by
 * the suffix of the path). `options`: NULL or a JSON object with the members of the options of sluice-import; an
 * unknown member is an error that names the nearest known one: hf:     "batch", "sequence" (both required), "dropout",
 * "allow_longer", "train_only" export: "batch", "set": {"SYMBOL": size}, "inputs": {"NAME": "tokens:VOCABULARY"},
 * "loss", "add_output": [names], "train_only", "blocks": [globs], "dropout", "allow_decomposed", "initialize" zoo:
 * "set": {"key": value} */
SLUICE_API sluice_compiler_status *sluice_model_import(const char *kind, const char *path, const char *options,
                                                       sluice_model **model);
SLUICE_API void sluice_model_free(sluice_model *model);
/* The module as text, as sluice-import writes it. */
SLUICE_API sluice_compiler_status *sluice_model_text(const sluice_model *model, char **text);
/* JSON: the output of `sluice-import export --json`, or an object without its members for another kind; "warnings" has
 * the warnings of the import. */
SLUICE_API sluice_compiler_status *sluice_model_report(const sluice_model *model, char **json);

/* Compiles the model, and checks the plan. `recipe`: the text of a recipe, as TOML or as a JSON object with nested or
 * dotted keys; NULL: the defaults. `machine`: the path of a machine file, or NULL. `bytes` and `size` receive the plan
 * file. `json` (may be NULL) receives {"warnings": [texts], "remarks": [texts], "decisions": the choices of the planner
 * as --decisions writes them, or null}. A plan over the memory budget is an error of code 3, whose notes are settings
 * that need less memory. */
SLUICE_API sluice_compiler_status *sluice_compile(const sluice_model *model, const char *recipe, const char *machine,
                                                  void **bytes, size_t *size, char **json);
/* Compiles variants. `options`: {"what_if": {"key": [values]}, "pareto": false, "fit": "batch"|"sequence", "machine":
 * PATH}. `json`: what `sluice-compile --what-if ... --json` prints; variants that are not feasible are no error. */
SLUICE_API sluice_compiler_status *sluice_what_if(const sluice_model *model, const char *recipe, const char *options,
                                                  char **json);
/* Predicts a step of a plan on a machine; `entry`: NULL for "train_step". `json`: what `sluice-plan simulate --json`
 * prints. */
SLUICE_API sluice_compiler_status *sluice_simulate(const void *plan, size_t size, const char *machine,
                                                   const char *entry, char **json);
/* Finds the settings with which a job fits its GPUs, as `sluice-fit` does. `options`, with the names of its options:
 * {"model": PATH, "gpus": "8xh100-sxm-80gb", "world": 64, "sequence": 8192, "batch": [1, 2], "size": {"SYMBOL": n},
 * "for": "sluice"|"pytorch", "recompute": [names], "offload": [names], "precision": [names], "set": ["key=value"],
 * "assert": ["peak<=76GiB"], "machines": FOLDER (of machine files)}; the first two are required. `json`: what
 * `sluice-fit --json` prints. No setting that fits, or an assertion that no setting meets, is an error of code 3. */
SLUICE_API sluice_compiler_status *sluice_fit(const char *options, char **json);

#ifdef __cplusplus
}
#endif
#endif // SLUICE_PASSES_CAPI_SLUICE_COMPILER_H
