"""The memory of published runs in docs/published.md is that of the account of FSDP2."""

from sluice import *

sys.path.insert(0, str(ROOT / "test/bench/published"))
import published


def differing(page, text):
    """True unless the page has the tables."""
    return published.MEMORY + "\n" + text + published.END not in page


@test
def tables_are_those_of_the_account():
    """Some seconds for each of the seven plans, of 32 layers."""
    text = "".join(published.memory_lines(SCRATCH))
    page = published.PAGE.read_text()
    expect(not differing(page, text), f"docs/published.md has other tables: run test/bench/published/published.py --write\n{text}")
    expect(differing(page.replace("| 82.4 |", "| 82.5 |"), text), "a page with another figure is accepted")
    expect(text.count("| 82.4 |") == 1, "missing row")


main(no_empty_loops=True)
