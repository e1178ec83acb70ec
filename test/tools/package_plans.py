"""Plans and models of the Python package: the bytes and reports of the tools, the page of a notebook, and calls that are interrupted."""

# REQUIRES: compiler


from package import *

RECIPE = {"mesh": {"shard": 2}, "optimizer.lr": 0.01}


@test
def the_bytes_of_the_tools():
    path, config, text = SCRATCH / "tool.plan", SCRATCH / "config.json", SCRATCH / "m.mlir"
    config.write_text(json.dumps(CONFIG))
    run("sluice-import", "hf", config, "--batch", 2, "--sequence", SEQUENCE, "-o", text)
    run("sluice-compile", text, *set_options(["mesh.shard=2", "optimizer.lr=0.01"]), "-o", path)
    wanted = path.read_bytes()
    model = sluice.load(config, batch=2, sequence=SEQUENCE)
    expect_equal(model.text, text.read_text(), "text of the model")
    (SCRATCH / "r.toml").write_text('mesh.shard = 2\n[optimizer]\nlr = 0.01\n')
    for recipe in (RECIPE, "mesh.shard = 2\noptimizer.lr = 0.01", SCRATCH / "r.toml", str(SCRATCH / "r.toml")):
        expect(sluice.compile(model, recipe).bytes == wanted, f"{recipe}: other bytes than sluice-compile")
    model.save(SCRATCH / "saved.mlir")
    plan = sluice.compile(SCRATCH / "saved.mlir", RECIPE)
    plan.save(SCRATCH / "package.plan")
    expect((SCRATCH / "package.plan").read_bytes() == plan.bytes == sluice.Plan(SCRATCH / "package.plan").bytes, "saved and read")


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(each) for key, each in value.items() if key != "seconds"}
    return [without_times(each) for each in value] if isinstance(value, list) else value


@test
def the_reports_of_the_tools():
    plan, path = small_plan(), SCRATCH / "m.plan"
    plan.save(path)
    for name, report in (("check", plan.check), ("describe", plan.describe), ("memory", plan.memory), ("explain", plan.explain)):
        done = run("sluice-plan", name, path, "--json")
        expect_equal(without_times(report()), without_times(json.loads(done.stdout)), name)
    expect(plan.memory("fsdp2") != plan.memory(), "the account of FSDP2 is that of Sluice")
    page = plan._repr_html_()
    expect(page.startswith("<iframe srcdoc=") and page.count("<") == 2 and "&lt;" in page, "a page whose text is not escaped")
    expect_equal(plan.memory_page()[:15].lower(), "<!doctype html>", "the page")


@test
def variants_and_predicted_time():
    plan = small_plan()
    variants = plan.what_if({"gradient.microbatches": [1, 2]})
    expect("1" in json.dumps(variants) and len(json.dumps(variants)) > 100, f"variants: {variants}")
    machine = ROOT / "tools" / "machines" / "h100-8x4.toml"
    expect_error(lambda: plan.simulate(machine), 1, "is for 'cuda', but the plan's target.device is 'cpu'")
    predicted = sluice.compile(small_model(), {"mesh.shard": 2, "target.device": "cuda"}).simulate(machine)
    expect(predicted, "no prediction")


@test
def settings_that_fit():
    config = SCRATCH / "fit.json"
    config.write_text(json.dumps(CONFIG))
    found = sluice.fit(config, "2x1GiB", sequence=SEQUENCE, batch=2, recompute=["none"], offload=["none"], asserts="peak<=1GiB")
    expect(found["rows"] and found["best"], f"settings: {found}")
    expect_error(lambda: sluice.fit(config, "2x1GiB", sequence=SEQUENCE, batch=2, recompute=["none"], asserts="peak<=1B"), 3, "peak")
    expect_error(lambda: sluice.fit(config, "2xnone", sequence=SEQUENCE), 2, "none")
    timed = sluice.fit(config, "2xh100-sxm-80gb", sequence=SEQUENCE, batch=2, recompute=["none"], offload=["none"], settings={"optimizer.lr": 0.1})
    expect(all(row.get("step_s") for row in timed["rows"]), f"times: {timed['rows'][0]}")


@test
def models_of_each_kind():
    expect("model.name" in sluice.load("mlp", kind="zoo").text, "a model of the zoo")
    archive = sluice.load(REFERENCE / "export" / "nanogpt" / "model.pt2")
    expect(archive.report.get("parameters"), f"report of an archive: {archive.report}")
    expect_equal(archive.warnings, archive.report.get("warnings", []), "warnings")
    expect_equal(sluice.load(CONFIG, batch=2, sequence=SEQUENCE).source, "gpt2", "source of a config")


@test
def interrupted_compilation():
    """Ctrl-C ends the wait; the model remains usable."""
    script = f"""
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {os.fspath(ROOT / 'tools' / 'python')!r})
import sluice
from sluice.progress import interruptible
begun, goes_on = threading.Event(), threading.Event()
def long():
    begun.set()
    goes_on.wait(60)
def interrupt():
    begun.wait(60)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    interruptible("long", long)
except KeyboardInterrupt:
    print("interrupted")
goes_on.set()
print(len(sluice.compile(sluice.load("mlp", kind="zoo")).bytes) > 0)
"""
    done = try_run(sys.executable, "-c", script)
    expect_equal(done.stdout.split(), ["interrupted", "True"], f"output of {done.stderr}")


@test
def progress_line():
    """SLUICE_PROGRESS=1 shows it without a terminal; without a terminal nothing is shown."""
    script = f"""
import sys, time
sys.path.insert(0, {os.fspath(ROOT / 'tools' / 'python')!r})
import sluice.progress as progress
progress.BEGIN = progress.INTERVAL = 0.0
with progress.Waiting("waiting for it"):
    time.sleep(0.3)
"""
    for shown, env in ((True, {"SLUICE_PROGRESS": "1"}), (False, {})):
        done = try_run(sys.executable, "-c", script, env={**os.environ, **env})
        expect_equal("waiting for it: 0 s" in done.stderr, shown, f"with {env}: {done.stderr!r}")
        expect_equal(done.returncode, 0, "exit code")


@test
def import_needs_no_other_package():
    """Nothing outside of Python's library, and neither of the two libraries."""
    script = f"""
import sys
sys.path.insert(0, {os.fspath(ROOT / 'tools' / 'python')!r})
before = set(sys.modules)
import sluice
new = {{name.partition('.')[0] for name in set(sys.modules) - before}}
print(sorted(new - set(sys.stdlib_module_names)))
print([line for line in open('/proc/self/maps') if 'libsluice' in line])
"""
    done = run(sys.executable, "-S", "-c", script)
    expect_equal(done.stdout.split("\n"), ["['sluice']", "[]", ""], "modules and libraries of the import")


@test
def functions_of_the_headers():
    """Each function of the two headers is declared with its number of arguments."""
    from sluice import library
    for header, functions in (("runtime/capi/sluice.h", library._RUNTIME), ("passes/capi/sluice_compiler.h", library._COMPILER)):
        text = re.sub(r"/\*.*?\*/", "", (ROOT / header).read_text(), flags=re.S)
        declared = {name: 0 if arguments.strip() == "void" else arguments.count(",") + 1 for name, arguments in re.findall(r"SLUICE_API[^;(]*?(\w+)\(([^)]*)\);", text)}
        expect_equal({name: len(arguments) for name, (_, arguments) in functions.items()}, declared, header)


main()
