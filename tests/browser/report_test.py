#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reports in a headless Chromium without network: report_test.py PACELINE SOURCE [CHROMIUM].
Exit 77: no browser, or no chart library. PACELINE_UPDATE_GOLDEN=1 renews the reference pictures."""
import json, os, pathlib, subprocess, sys, tempfile, unittest

from devtools import Browser
from png import colour, difference

SKIPPED = 77
HOSTILE = "</script><b>\"'\\ {{data}} \u00e4\u4e2d"
LIKENESS = 6.0  # of 255: another font gives up to 3
COLOUR = 0.15  # relative: another font changes 0.01, a chart that is missing 0.3
program, source, browser, folder = None, None, None, None


def paceline(*arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=source)


def make(name, *arguments):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        ran = paceline(*arguments, "--report", path)
        if ran.returncode not in (0, 1):
            raise RuntimeError(ran.stderr)
    return path


class ReportTest(unittest.TestCase):
    run_arguments = ("run", "scenarios/05_llama3_70b_gpipe_16_h100.yaml")

    def setUp(self):
        browser.problems.clear()
        browser.size(1280, 900)
        browser.scheme("light")

    def tearDown(self):
        self.assertEqual(browser.problems, [])
        self.assertEqual(browser.value("paceline.errors.length"), 0)

    def open(self, path):
        browser.open(path)
        browser.settle()

    def run_report(self):
        return make("run.html", *self.run_arguments, "--set", "run.tokens=1e12", "--set", "run.price=on-demand")

    def test_a_run_has_its_answer_and_every_chart_its_marks(self):
        self.open(self.run_report())
        answer = json.loads(paceline(*self.run_arguments, "--json", "-").stdout)
        first = browser.value("document.querySelector('.tile.first .value').textContent").replace("\u00a0", " ")
        seconds = answer["step_time_s"]
        self.assertAlmostEqual(float(first.split()[0]), seconds, delta=0.01 * seconds)
        bars = browser.value("paceline.charts.time.getDatasetMeta(0).data.length")
        self.assertEqual(bars, sum(1 for s in answer["breakdown_s"].values() if s > 0))
        kinds = browser.value("paceline.charts.traffic.getDatasetMeta(0).data.length")
        self.assertEqual(kinds, sum(1 for b in answer["traffic_bytes"].values() if b > 0))
        self.assertGreater(browser.value("paceline.charts.memory.data.datasets.length"), 3)
        self.assertEqual(browser.value("paceline.charts.power.data.datasets.length"), 5)
        self.assertGreater(browser.value("paceline.charts.roofline.data.datasets[0].data.length"), 4)
        self.assertEqual(browser.value("document.querySelectorAll('#matrix tbody tr').length"), len(answer["memory"]["per_rank"]))

    def test_every_span_is_on_the_timeline_and_a_click_takes_a_stream_away(self):
        self.open(self.run_report())
        counted = browser.value("paceline.timelines[0].rows.reduce((n, row) => n + row.start.length, 0)")
        self.assertEqual(counted, browser.value("paceline.report.runs[0].view.spans.rows.reduce((n, row) => n + row.gap.length, 0)"))
        drawn = browser.value("paceline.timelines[0].drawn")
        self.assertGreater(drawn, 0)
        browser.click("[data-stream='compute']")
        self.assertLess(browser.value("paceline.timelines[0].drawn"), drawn)
        self.assertEqual(browser.value("document.querySelector(\"[data-stream='compute']\").getAttribute('aria-pressed')"), "false")
        browser.click("[data-stream='compute']")
        self.assertEqual(browser.value("paceline.timelines[0].drawn"), drawn)

    def test_the_timeline_zooms_pans_and_tells_of_a_span(self):
        self.open(self.run_report())
        before = browser.value("paceline.timelines[0].view.to")
        browser.click("[aria-label='zoom in']")
        self.assertLess(browser.value("paceline.timelines[0].view.to - paceline.timelines[0].view.from"), before)
        browser.value("paceline.timelines[0].box.focus()")
        start = browser.value("paceline.timelines[0].view.from")
        browser.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight")
        browser.settle()
        self.assertGreater(browser.value("paceline.timelines[0].view.from"), start)
        browser.call("Input.dispatchKeyEvent", type="keyDown", key="0")
        browser.settle()
        self.assertEqual(browser.value("paceline.timelines[0].view.from"), 0)
        x, y = browser.value("(() => { const t = paceline.timelines[0], box = t.canvas.getBoundingClientRect(), line = t.lines.find(l => l.row),"
                             " row = line.row, i = row.start.length >> 1; return [box.x + t.x((row.start[i] + row.end[i]) / 2 * t.spans.unit_s), box.y + 24 + line.y + 7]; })()")
        browser.click_at(x, y)
        self.assertIn("stage", browser.value("document.querySelector('.tip').textContent"))
        self.assertIn("microbatch", browser.value("paceline.timelines[0].details.textContent"))

    def test_a_stage_alone_hides_the_others(self):
        self.open(self.run_report())
        lines = browser.value("paceline.timelines[0].lines.length")
        browser.value("(() => { const s = document.querySelector(\"select[aria-label='stage']\"); s.value = '0'; s.dispatchEvent(new Event('change')); })()")
        browser.settle()
        self.assertLess(browser.value("paceline.timelines[0].lines.length"), lines)

    def test_what_users_write_is_text(self):
        self.open(make("hostile.html", "run", "scenarios/02_llama3_8b_8_h100.yaml", "--set", "name=" + json.dumps(HOSTILE)))
        self.assertEqual(browser.value("document.querySelector('h1').textContent"), HOSTILE)
        self.assertEqual(browser.value("document.querySelectorAll('h1 b').length"), 0)

    def test_charts_have_words_and_tables_for_those_who_do_not_see_them(self):
        self.open(self.run_report())
        self.assertEqual(browser.value("[...document.querySelectorAll('figure canvas')].filter(c => !(c.getAttribute('aria-label') || '').length).length"), 0)
        self.assertEqual(browser.value("[...document.querySelectorAll('section')].filter(s => !document.getElementById(s.getAttribute('aria-labelledby'))).length"), 0)
        self.assertGreater(browser.value("document.querySelectorAll('table').length"), 6)

    def test_a_comparison_shares_one_axis_and_explains_the_difference(self):
        self.open(make("compare.html", "compare", "scenarios/06_llama3_70b_64_h100.yaml", "scenarios/05_llama3_70b_gpipe_16_h100.yaml"))
        self.assertEqual(browser.value("paceline.timelines.length"), 2)
        self.assertTrue(browser.value("paceline.timelines[0].view === paceline.timelines[1].view"))
        ends = browser.value("(() => { const d = paceline.charts['waterfall-1'].data.datasets[0].data; return [d[0][1], d[d.length - 1][1], d[d.length - 2][1]]; })()")
        steps = browser.value("paceline.report.runs.map(run => run.answer.step_time_s)")
        self.assertEqual(ends[:2], steps)
        self.assertAlmostEqual(ends[2], steps[1], delta=0.01 * steps[1])

    def test_a_sweep_has_a_mark_for_every_point_and_a_click_filters_its_table(self):
        path = make("sweep.html", "sweep", "scenarios/02_llama3_8b_8_h100.yaml", "--over", "parallel.zero=1,2,3", "--over", "batch.micro=1,2,3")
        self.open(path)
        done = browser.value("paceline.report.sweep.rows.filter(row => row.step_time_s !== undefined).length")
        marks = browser.value("paceline.charts.scatter.data.datasets.reduce((n, set) => n + set.data.length, 0)")
        self.assertEqual(marks, done)
        rows = browser.value("document.querySelectorAll('#points tbody tr').length")
        self.assertEqual(rows, 9)
        self.assertIn("does not divide", browser.value("document.querySelector('#reasons').textContent"))
        bad = browser.value("paceline.report.sweep.rows.filter(row => row.status === 'bad input').length")
        browser.click("[data-status='bad input']")
        self.assertEqual(browser.value("document.querySelectorAll('#points tbody tr').length"), rows - bad)

    plan_arguments = ("plan", "scenarios/02_llama3_8b_8_h100.yaml", "--vary", "micro=1,2", "--jobs", "1")

    def test_a_search_has_its_answer_first_and_a_mark_for_every_layout_it_ran(self):
        self.open(make("plan.html", *self.plan_arguments, "--memory", "60GiB"))
        plan = json.loads(paceline(*self.plan_arguments, "--memory", "60GiB", "--json", "-").stdout)
        best, more = plan["best"], plan["with_more_memory"]
        self.assertTrue(plan["proven"] and more)
        seconds = best[0]["step_time_s"]
        tiles = [text.replace("\u00a0", " ") for text in browser.value("[...document.querySelectorAll('.tile .value')].map(tile => tile.textContent)")]
        shown = seconds * {"s": 1, "ms": 1e3}[tiles[0].split()[1]]
        self.assertAlmostEqual(float(tiles[0].split()[0]), shown, delta=0.01 * shown)
        self.assertEqual(tiles[1:3], ["Proven", "Memory"])
        self.assertIn(best[0]["layout"], browser.value("document.querySelector('.lead').textContent"))
        self.assertEqual(browser.value("[...document.querySelectorAll('#layouts tbody tr')].map(row => row.cells[1].textContent)"), [one["layout"] for one in best])
        self.assertEqual(browser.value("document.querySelectorAll('#binding tbody tr').length"), len(more))
        marks = browser.value("Object.fromEntries(paceline.charts.tried.data.datasets.map(set => [set.label, set.data.length]))")
        self.assertEqual(sum(marks.values()), plan["counts"]["evaluated"] + len(more))
        self.assertEqual((marks["the best"], marks["in the answer"], marks["with more memory"]), (1, len(best) - 1, len(more)))
        told = browser.value("(() => { const chart = paceline.charts.tried; chart.tooltip.setActiveElements([{ datasetIndex: 0, index: 0 }], { x: 1, y: 1 }); chart.update(); return chart.tooltip.body[0].lines; })()")
        self.assertEqual(told[0], best[0]["layout"])
        self.assertEqual(browser.value("paceline.report.runs[0].answer.step_time_s"), seconds)
        self.assertGreater(browser.value("paceline.timelines[0].drawn"), 0)
        self.assertIn("paceline plan", browser.value("document.querySelector('#reproduce code').textContent"))
        browser.size(420, 900)
        browser.settle()
        self.assertLessEqual(browser.value("document.documentElement.scrollWidth"), 420)

    def test_a_search_that_proves_nothing_or_finds_nothing_says_so(self):
        self.open(make("unproven.html", *self.plan_arguments, "--evaluations", "3"))
        self.assertEqual(browser.value("document.querySelectorAll('.tile .value')[1].textContent"), "Not proven")
        self.assertIn("left when the simulations were used up", browser.value("document.querySelector('#space').textContent"))
        self.open(make("nothing.html", *self.plan_arguments, "--memory", "1GiB"))
        self.assertEqual(browser.value("document.querySelector('.lead').textContent"), "No layout fits.")
        self.assertEqual(browser.value("paceline.timelines.length"), 0)

    def test_shared_links_show_how_full_they_are_over_the_step(self):
        arguments = ("run", "scenarios/06_llama3_70b_64_h100.yaml", "--engine", "simgrid")
        ran = paceline(*arguments, "--json", "-")
        if ran.returncode == 3:
            self.skipTest("no SimGrid here")
        links = json.loads(ran.stdout)["network"]["links"][:20]
        self.assertGreater(len(links), 0)
        self.open(make("links.html", *arguments))
        rows = browser.value("[...document.querySelectorAll('#links tbody tr')].map(row => [row.cells[0].textContent, row.querySelector('[role=img]').getAttribute('aria-label'),"
                             " [...row.querySelectorAll('i')].map(part => getComputedStyle(part).backgroundColor)])")
        self.assertEqual(len(rows), len(links))
        for (name, label, shades), link in zip(rows, links):
            self.assertTrue(name.startswith(link["name"]))
            used = link["utilisation"]
            self.assertEqual(len(shades), len(used))
            for said, share in zip(label.split()[:-1], used):
                self.assertAlmostEqual(float(said), 100 * share, delta=0.51)
            # The emptiest and the fullest part of the step look different where they are.
            if max(used) - min(used) > 0.02:
                self.assertNotEqual(shades[used.index(max(used))], shades[used.index(min(used))])

    def test_pictures_at_two_widths_are_like_the_references(self):
        references = pathlib.Path(__file__).parent / "references"
        for width, scheme in ((1280, "light"), (420, "light")):
            browser.size(width, 1600 if width > 800 else 2400, 0.25)
            browser.scheme(scheme)
            self.open(self.run_report())
            self.assertLessEqual(browser.value("document.documentElement.scrollWidth"), width)
            picture = browser.screenshot()
            path = references / f"run_{width}_{scheme}.png"
            if os.environ.get("PACELINE_UPDATE_GOLDEN"):
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(picture)
            apart, kept = difference(picture, path.read_bytes()), colour(picture) / colour(path.read_bytes())
            if apart >= LIKENESS or abs(kept - 1) >= COLOUR:
                now = pathlib.Path(tempfile.gettempdir()) / ("paceline_" + path.name)
                now.write_bytes(picture)
                self.fail(f"{path.name} has changed by {apart:.1f} of 255 and has {kept:.2f} of its colour; {now} shows it now")

    def test_the_page_follows_light_and_dark(self):
        shades = []
        for scheme in ("light", "dark"):
            browser.scheme(scheme)
            self.open(self.run_report())
            shades.append(browser.value("[getComputedStyle(document.body).backgroundColor, paceline.charts.time.options.color || Chart.defaults.color]"))
        self.assertNotEqual(shades[0][0], shades[1][0])
        self.assertNotEqual(shades[0][1], shades[1][1])


if __name__ == "__main__":
    program, source = os.path.abspath(sys.argv[1]), sys.argv[2]
    if len(sys.argv) < 4 or not os.access(sys.argv[3], os.X_OK):
        print("skipped: no Chromium here")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="paceline-report-") as folder:
        if paceline("run", "scenarios/01_gpt2_124m_1_gpu.yaml", "--report", os.path.join(folder, "first.html")).returncode == 3:
            print("skipped: no chart library here")
            sys.exit(SKIPPED)
        browser = Browser(sys.argv[3])
        try:
            result = unittest.main(argv=sys.argv[:1] + sys.argv[4:], exit=False).result
        finally:
            browser.close()
    sys.exit(0 if result.wasSuccessful() else 1)
