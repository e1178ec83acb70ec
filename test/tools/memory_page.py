"""memory_page.py PAGE PLAN [MACHINE]: a page of `sluice-plan memory --html` in a headless browser.

Compares its numbers, the pixels of a screenshot, and its reactions to mouse and keyboard with the other reports of sluice-plan.
"""

import json
import os
import subprocess
import sys

import browser

# Dispatches events as a user causes them.
EVENTS = """
const middle = (id, x, y) => { const box = element(id).getBoundingClientRect(); return {clientX: box.left + x, clientY: box.top + y, bubbles: true, cancelable: true}; };
const mouse = (id, type, x, y, buttons = 0) => element(id).dispatchEvent(new MouseEvent(type, {...middle(id, x, y), buttons}));
const wheel = (id, x, y, deltaY) => element(id).dispatchEvent(new WheelEvent('wheel', {...middle(id, x, y), deltaY}));
const type = text => { element('search').value = text; element('search').dispatchEvent(new Event('input')); };
const choose = (id, value) => { element(id).value = value; element(id).dispatchEvent(new Event('change')); };
const tip = () => element('tip').style.display === 'block' ? element('tip').textContent : '';
const tableOf = id => [...element(id).rows].map(line => [...line.cells].map(cell => cell.textContent));
const middleOf = (canvas, i) => toX(element(canvas), i + 0.5);
"""


def report(*words):
    return json.loads(subprocess.run(["sluice-plan", *words, "--json"], check=True, stdout=subprocess.PIPE).stdout)


def entry_of(rows, name):
    return next(row for row in rows if row["entry"] == name)


class Test:
    def __init__(self, page, plan):
        self.page, self.plan = page, plan
        self.memory, self.count = report("memory", plan), 0

    def ask(self, script):
        return json.loads(browser.evaluate(self.page, EVENTS + f"finish(JSON.stringify((() => {{ {script} }})()));"))

    def same(self, found, expected, what):
        self.count += 1
        if found != expected:
            sys.exit(f"{what}, expected {expected} but got {found}")

    def at(self, instruction):
        return entry_of(report("memory", self.plan, "--at", str(instruction)), "train_step")

    def numbers(self):
        """The numbers of the page are those of `sluice-plan memory`; by class and by unit they have the same sum everywhere."""
        peak = entry_of(self.memory["entries"], "train_step")["peak"]
        found = self.ask("""
          const sums = [];
          for (let i = 0; i < entry.count; ++i) {
            const workspace = live.workspace?.[i] ?? 0;
            sums.push([...liveBytes(i).values()].reduce((a, b) => a + b, 0) + workspace === total[i]);
          }
          return {peak, bytes: total[peak], cursor: view.cursor, classes: tableOf('classes'), units: tableOf('units'), sums: sums.every(Boolean), count: entry.count};""")
        self.same((found["peak"], found["bytes"], found["cursor"]), (peak["instruction"], peak["bytes"], peak["instruction"]), "peak")
        self.same({name: int(size) for name, size, *_ in found["classes"]}, {name: size for name, size in peak["by_class"].items() if size}, "classes at the peak")
        units = {name: size for name, size in peak["by_unit"].items() if name and size}
        self.same({name: int(size) for name, size, *_ in found["units"] if name != "(no unit)"}, units, "units at the peak")
        self.same(found["sums"], True, "sums of live buffers and of classes at every instruction")
        return found["peak"], found["count"]

    def pixels(self, peak, count):
        """Colours of the screenshot: the height of each class at some instructions, the largest buffer, the gathers."""
        box = self.ask("""
          const boxOf = id => { const box = element(id).getBoundingClientRect(); return [box.left, box.top]; };
          const b = shownBuffers.filter(b => isLive(b, peak) && buffers.entry[b] >= 0).sort((a, b) => buffers.bytes[b] - buffers.bytes[a])[0];
          const scale = (arenaHeight - 2) / arenaBytes();
          const gathers = [];
          for (let i = 0; i < entry.count; ++i) if (operationOf(i) === 'all_gather') gathers.push([middleOf('streams', i), (entry.instructions.stream[i] + 0.5) * laneHeight]);
          return {memory: boxOf('memory'), arena: boxOf('arena'), streams: boxOf('streams'), x: [...total.keys()].map(i => middleOf('memory', i)), plotTop, memoryHeight, colours: classColour,
                  work: workColour, stacked, gathers, largest: {class: plan.classes[buffers.class[b]], x: (toX(element('arena'), buffers.begin[b]) + toX(element('arena'), buffers.end[b])) / 2,
                  y: arenaHeight - (buffers.offset[b] + buffers.bytes[b] / 2) * scale}};""")
        shot = browser.screenshot(self.page, keep=os.path.basename(self.page) + ".png")
        plot, most = box["memoryHeight"] - box["plotTop"], self.at(peak)["bytes"]
        for instruction in sorted({0, count // 4, count // 2, count - 1}):
            expected = self.at(instruction)["by_class"]
            x = box["memory"][0] + box["x"][instruction]
            column = [shot.at(x, box["memory"][1] + y) for y in range(box["memoryHeight"])]
            for name in box["stacked"]:
                height, found = expected[name] / most * plot, column.count(box["colours"][name])
                self.count += 1
                if abs(found - height) > 2:
                    sys.exit(f"pixels of '{name}' at instruction {instruction}, expected {height:.1f} but got {found}")
        largest = box["largest"]
        self.same(shot.at(box["arena"][0] + largest["x"], box["arena"][1] + largest["y"]), box["colours"][largest["class"]], "colour of the largest buffer")
        for x, y in box["gathers"]:
            self.same(shot.at(box["streams"][0] + x, box["streams"][1] + y), box["work"]["all_gather"], "colour of a gather")
        self.same(bool(box["gathers"]), True, "gathers")

    def reactions(self):
        found = self.ask("""
          const all = [view.from, view.to];
          wheel('memory', 500, 50, -1);
          const zoomed = view.to - view.from;
          mouse('memory', 'mousedown', 500, 50, 1); mouse('memory', 'mousemove', 400, 50, 1);
          const moved = view.from;
          mouse('memory', 'click', 400, 50);
          const kept = view.cursor === peak;
          element('all').click();
          mouse('memory', 'mousedown', 600, 50); mouse('memory', 'click', 600, 50);
          const cursor = view.cursor, below = columns(element('memory'))[600 - gutter];
          element('peak').click();
          return {all, zoomed, moved, kept, clicked: cursor === below, cursor: view.cursor === peak, near: view.from <= peak && peak < view.to};""")
        self.same(found["zoomed"] < found["all"][1] - found["all"][0], True, "the wheel zooms in")
        self.same(found["moved"] > found["all"][0], True, "dragging to the left moves to later instructions")
        for name in ("kept", "clicked", "cursor", "near"):
            self.same(found[name], True, name)

    def search(self):
        found = self.ask("""
          element('onlyLive').click();
          type('h.1 activation');
          const text = element('found').textContent, rows = tableOf('buffers').slice(1);
          const expected = shownBuffers.filter(b => plan.classes[buffers.class[b]] === 'activation' && unitName(buffers.unit[b]) === 'h.1').length;
          type('no such name');
          return {text, rows, expected, nothing: element('found').textContent, left: tableOf('buffers').length};""")
        buffers = int(found["text"].split()[0])
        self.same(buffers >= found["expected"] > 0, True, f"buffers found: {found['text']}, of h.1 {found['expected']}")
        self.same(len(found["rows"]), buffers, "rows of the table")
        for row in found["rows"]:
            text = " ".join(row)
            self.same("h.1" in text and "activation" in text, True, f"row {row}")
        self.same((found["nothing"], found["left"]), ("0 buffers, 0 instructions", 1), "a search without a match")

    def hover(self):
        """Buffers have class, type, unit, lifespan, source; a gather its group and the wait for it."""
        found = self.ask("""
          const b = shownBuffers.filter(b => isLive(b, peak) && plan.classes[buffers.class[b]] === 'activation').sort((a, b) => buffers.bytes[b] - buffers.bytes[a])[0];
          const x = (toX(element('arena'), buffers.begin[b]) + toX(element('arena'), buffers.end[b])) / 2;
          const y = arenaHeight - (buffers.offset[b] + buffers.bytes[b] / 2) * (arenaHeight - 2) / arenaBytes();
          mouse('arena', 'mousemove', x, y);
          const buffer = tip(), name = buffers.name[b], bytes = buffers.bytes[b];
          mouse('arena', 'mousedown', x, y); mouse('arena', 'click', x, y);
          const selected = [...element('buffers').querySelectorAll('.selected')].map(line => line.cells[0].textContent);
          let gather = 0;
          while (operationOf(gather) !== 'all_gather') ++gather;
          mouse('streams', 'mousemove', middleOf('streams', gather), (entry.instructions.stream[gather] + 0.5) * laneHeight);
          const collective = tip(), [wait] = recordOfWait.keys();
          mouse('streams', 'mousemove', middleOf('streams', wait), (entry.instructions.stream[wait] + 0.5) * laneHeight);
          const waits = tip();
          mouse('memory', 'mousemove', middleOf('memory', peak), 100);
          const memory = tip();
          mouse('memory', 'mouseleave', 0, 0);
          return {buffer, name, bytes, selected, collective, waits, memory, peak: total[peak], left: tip()};""")
        for part in (found["name"], "activation, f32[", str(found["bytes"]), "at offset ", "unit ", "lifespan: ", "written by launch ", "source h.", "ends with "):
            self.same(part in found["buffer"], True, f"'{part}' in the text of a buffer, {found['buffer']!r}")
        self.same(found["selected"], [found["name"]], "selected rows")
        for part in ("all_gather", "along shard, 4 ranks, f32, ", "stream 'gather", "unit ", "a different stream waits for it at "):
            self.same(part in found["collective"], True, f"'{part}' in the text of a gather, {found['collective']!r}")
        self.same("waits for stream '" in found["waits"], True, f"the text of a wait, {found['waits']!r}")
        self.same(str(found["peak"]) in found["memory"] and "activation" in found["memory"], True, f"the text of the peak, {found['memory']!r}")
        self.same(found["left"], "", "the text after the mouse has left")

    def times(self, machine):
        step = report("simulate", self.plan, "--machine", machine)
        found = self.ask("""
          choose('axis', 'time');
          const {spans} = entry.prediction;
          let k = 0;
          while (operationOf(spans[k]) !== 'all_gather' || spans[k + 2] < 0) k += 4;
          mouse('streams', 'mousemove', (toX(element('streams'), spans[k + 2]) + toX(element('streams'), spans[k + 3])) / 2, (entry.instructions.stream[spans[k]] + 0.5) * laneHeight);
          return {seconds: entry.prediction.seconds, exposed: entry.prediction.exposedSeconds, facts: element('prediction').textContent, tip: tip(), hidden: element('arenaPart').style.display,
                  drawn: columns(element('memory')).filter(i => i >= 0).length};""")
        self.same((found["seconds"], found["exposed"]), (step["at_least_s"], step["exposed_communication_s"]), "predicted times")
        self.same(found["facts"].startswith("predicted on 4 hosts of 8 NVIDIA H100 SXM 80 GB: ") and "exposed communication" in found["facts"], True, found["facts"])
        self.same("all_gather" in found["tip"] and "repetition 0, " in found["tip"], True, f"the text of a span, {found['tip']!r}")
        self.same(found["hidden"], "none", "the arena over time")
        self.same(found["drawn"] > 100, True, "columns with memory over time")
        browser.screenshot(self.page, EVENTS + "choose('axis', 'time');", keep=os.path.basename(self.page) + ".times.png")


def main():
    page, plan, *machine = sys.argv[1:]
    test = Test(page, plan)
    test.pixels(*test.numbers())
    test.reactions()
    test.search()
    test.hover()
    if machine:
        test.times(machine[0])
    print(f"{test.count} comparisons agree")


if __name__ == "__main__":
    main()
