# What the tests of built examples share; `work` is the test's folder.

# run(NAME COMMAND...): in ${work}, with its output in ${output}. A command that fails ends the test.
function(run name)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${work} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${name}: exit ${code}\n${out}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

# model.mlir and model.plan in ${work}: a GPT-2 of two layers on two ranks with two micro-batches.
function(compile_small_plan)
  file(WRITE ${work}/config.json [=[{"model_type": "gpt2", "vocab_size": 256, "n_positions": 32, "n_embd": 32,
  "n_layer": 2, "n_head": 2, "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0}]=])
  file(WRITE ${work}/recipe.toml "mesh.shard = 2\ngradient.microbatches = 2\n")
  run(import ${BUILD}/bin/sluice-import hf config.json --batch 2 --sequence 16 -o model.mlir)
  run(compile ${BUILD}/bin/sluice-compile model.mlir --recipe recipe.toml -o model.plan)
endfunction()
