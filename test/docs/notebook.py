"""notebook.py NOTEBOOK [--write]: runs the code cells in order in the current folder, and compares their output with that of the notebook.

Numbers may differ by 5 percent: they depend on the vector instructions of the machine. A cell that ends with an expression shows it as a notebook does, as HTML or text.
Cells with the tag "not-compared" depend on the machine otherwise: generated text, and workspace of kernels. --write replaces the outputs. With nbclient the notebook also runs in a kernel."""

import ast
import contextlib
import importlib.util
import io
import json
import math
import re
import sys
from pathlib import Path

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def outputs_of(source, names):
    """Runs a cell; its outputs in the form of a notebook."""
    tree, printed = ast.parse(source), io.StringIO()
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
    outputs = [{"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(True)}] if printed.getvalue() else []
    if value is not None:
        # A page takes more room than the notebook: it is shown where the notebook runs.
        data = {"text/plain": [repr(value)]}
        if hasattr(value, "_repr_html_") and "</" not in value._repr_html_():
            sys.exit("notebook: an HTML form without elements")
        outputs.append({"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    return outputs


def text_of(outputs):
    return "".join("".join(output.get("text") or output["data"]["text/plain"]) for output in outputs)


def is_same(shown, printed):
    pairs = list(zip(NUMBER.findall(shown), NUMBER.findall(printed)))
    return NUMBER.sub("", shown) == NUMBER.sub("", printed) and all(math.isclose(float(a), float(b), rel_tol=0.05, abs_tol=1e-3) for a, b in pairs)


def run_in_kernel(path):
    import nbclient
    import nbformat
    nbclient.NotebookClient(nbformat.read(path, 4), timeout=600, kernel_name="python3").execute()


def main():
    path = Path(sys.argv[1])
    notebook, names, ran = json.loads(path.read_text()), {"__name__": "__main__"}, 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        outputs = outputs_of("".join(cell["source"]), names)
        if "--write" in sys.argv:
            cell["outputs"] = outputs
        elif "not-compared" not in cell["metadata"].get("tags", ()) and not is_same(text_of(cell["outputs"]), text_of(outputs)):
            sys.exit(f"{path}: a cell prints\n{text_of(outputs)}\nand the notebook has\n{text_of(cell['outputs'])}")
        ran += 1
    if "--write" in sys.argv:
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    kernel = "not in a kernel: nbclient and ipykernel are not installed"
    if importlib.util.find_spec("nbclient") and importlib.util.find_spec("ipykernel"):
        run_in_kernel(path)
        kernel = "also in a kernel"
    print(f"{ran} cells of {path.name}, {kernel}")


main()
