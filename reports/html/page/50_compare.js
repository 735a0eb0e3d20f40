// Several runs: a common axis, what differs, and from where to where the time went.

const kUnits = { s: format.seconds, bytes: format.bytes, fraction: format.percent, count: format.count };
function unitOf(name) {
  if (name.startsWith("traffic_bytes") || name.includes("bytes")) return "bytes";
  if (name === "step_time_s" || name.startsWith("breakdown_s")) return "s";
  return name === "mfu" || name === "hfu" || name.startsWith("bubble") ? "fraction" : "count";
}
const kGroups = [["breakdown_s.", "Where the time goes"], ["memory.", "Memory of the fullest ranks"], ["traffic_bytes.", "Traffic per step, all ranks"], ["", "Speed"]];
function groupOf(name) { return kGroups.find(([start]) => name.startsWith(start)); }
function quantityTitle(name) {
  const bare = name.slice(groupOf(name)[0].length).replace(/^(parts_bytes|scenario)\./, "").replace(/_bytes$/, "").replace(/(?<!per)_s$/, "").replace(/per_s\b/, "per_second").replace(/per_s_/, "per_second_");
  return title(bare.replace(/^bubble_fraction\./, "bubble_of_")).replace(/^(mfu|hfu)$/, (word) => word.toUpperCase());
}

/// From the first run's step time part by part to that of another.
function waterfall(id, first, other, names) {
  const keys = [...new Set([...Object.keys(first.breakdown_s), ...Object.keys(other.breakdown_s)])];
  const changes = keys.map((key) => [key, (other.breakdown_s[key] || 0) - (first.breakdown_s[key] || 0)])
    .filter(([, s]) => Math.abs(s) > 0.0005 * first.step_time_s).sort((a, b) => a[1] - b[1]);
  const labels = [names[0]], data = [[0, first.step_time_s]], colours = [style("--c-forward")];
  let at = first.step_time_s;
  for (const [key, s] of changes) {
    labels.push(title(key));
    data.push([at, at + s]);
    colours.push(style(s < 0 ? "--good" : "--bad"));
    at += s;
  }
  labels.push(names[1]);
  data.push([0, other.step_time_s]);
  colours.push(style("--c-forward"));
  const tell = (i) => i === 0 || i === data.length - 1 ? format.seconds(data[i][1]) : (data[i][1] > data[i][0] ? "+" : "\u2212") + format.seconds(Math.abs(data[i][1] - data[i][0]));
  const ends = data.slice(1, -1).flat(), low = Math.min(first.step_time_s, other.step_time_s, ...ends), high = Math.max(first.step_time_s, other.step_time_s, ...ends);
  return figure(id, "From " + names[0] + " to " + names[1] + ": " + labels.map((label, i) => label + " " + tell(i)).join(", "), 32 * labels.length + 60, {
    type: "bar", data: { labels, datasets: [{ data, backgroundColor: colours, borderRadius: 3, maxBarThickness: 24, borderSkipped: false }] },
    options: {
      indexAxis: "y", scales: { x: axis("step time (the axis need not begin at 0)", format.seconds, { min: low > 0.5 * high ? Math.max(0, low - 0.6 * (high - low) - 0.05 * high) : 0 }), y: { grid: { display: false } } },
      plugins: { legend: { display: false }, tooltip: { callbacks: { label: (item) => tell(item.dataIndex) } } },
    },
  }, [["part"], ["change", 1]], labels.map((label, i) => [label, tell(i)]));
}

function renderCompare() {
  const runs = report.runs, comparison = report.comparison, labels = comparison.results.map((one) => one.label);
  const names = runs.map((run, i) => labels[i] + " \u00b7 " + run.answer.scenario.name), first = runs[0].answer;
  const fastest = runs.reduce((best, run, i) => run.answer.memory.fits && (best < 0 || run.answer.step_time_s < runs[best].answer.step_time_s) ? i : best, -1);
  const ratio = fastest >= 0 ? first.step_time_s / runs[fastest].answer.step_time_s : 1;
  const lead = fastest < 0 ? "None of the runs fits into memory."
    : "The fastest step that fits is " + names[fastest] + " with " + format.seconds(runs[fastest].answer.step_time_s) + (fastest > 0 ? ", " + (ratio >= 1 ? three(ratio) + " times as fast as " : three(1 / ratio) + " times as long as ") + labels[0] + "." : ": the reference.");
  const head = el("header", {}, el("p", { class: "eyebrow" }, "Comparison of training steps"), el("h1", {}, runs.length + " runs side by side"), el("p", { class: "lead" }, lead),
    el("div", { class: "tiles" }, runs.slice(0, 8).map(({ answer }, i) => tile(names[i], format.seconds(answer.step_time_s),
      (answer.memory.fits ? "fits" : "does not fit") + ", MFU " + format.percent(answer.mfu) + (i ? ", " + three(answer.step_time_s / first.step_time_s) + " of " + labels[0] : ", the reference"),
      i === fastest ? "first" : answer.memory.fits ? "" : "bad"))));
  const parts = Object.keys(kPartColours).filter((key) => runs.some(({ answer }) => answer.breakdown_s[key] > 0));
  const stacked = figure("parts", "Parts of the step time of every run", 46 * runs.length + 110, {
    type: "bar", data: { labels: names.map((name) => name.length > 34 ? name.slice(0, 33) + "\u2026" : name), datasets: parts.map((key) => ({ label: title(key), data: runs.map(({ answer }) => answer.breakdown_s[key] || 0), backgroundColor: style(kPartColours[key]), maxBarThickness: 28 })) },
    options: { indexAxis: "y", scales: { x: axis("", format.seconds, { stacked: true }), y: { stacked: true, grid: { display: false } } },
      plugins: { tooltip: { callbacks: { label: (item) => item.dataset.label + ": " + format.seconds(item.parsed.x) } } } },
  }, [["part"], ...labels.map((label) => [label, 1])], parts.map((key) => [title(key), ...runs.map(({ answer }) => format.seconds(answer.breakdown_s[key] || 0))]));
  const falls = section("difference", "What makes the difference", "From the step time of " + labels[0] + " to that of the others, part by part: green saves time, red costs it.",
    runs.slice(1, 7).map(({ answer }, i) => [el("h3", {}, labels[0] + " to " + labels[i + 1]), waterfall("waterfall-" + (i + 1), first, answer, [labels[0], labels[i + 1]])]).flat());
  const views = runs.map((run, i) => [names[i], run.view]).filter(([, view]) => view).slice(0, 4);
  let group = "";
  const quantities = comparison.quantities.flatMap((row) => {
    const tell = kUnits[unitOf(row.name)], heading = groupOf(row.name)[1], begins = heading !== group;
    group = heading;
    return [...(begins ? [[el("b", {}, heading), ...labels.map(() => "")]] : []), [quantityTitle(row.name), ...row.values.map((value, i) => value === 0 ? "\u2013" : tell(value) + (i && row.values[0] ? " (" + three(value / row.values[0]) + ")" : ""))]];
  });
  return page(head, [section("time", "Where the time goes", null, stacked), falls, views.length ? timelineSection(views, "Timelines on a common axis") : null,
    section("numbers", "All numbers", "In brackets: times the reference.", el("div", { class: "scroll" }, table([["quantity"], ...labels.map((label) => [label, 1])], quantities, "All numbers"))),
    section("runs", "The runs", null, runs.map(({ answer }, i) => [el("h3", {}, names[i]), facts(scenarioFacts(answer).concat(originFacts(answer))), command(answer.command),
      answer.warnings.length ? el("div", { class: "callout" }, el("ul", { class: "notes" }, answer.warnings.map((text) => el("li", {}, text)))) : null,
      answer.assumptions.length ? el("details", {}, el("summary", {}, "Assumptions"), el("ul", { class: "notes" }, answer.assumptions.map((text) => el("li", {}, text)))) : null]).flat()),
    section("reproduce", "Reproduce", null, command(comparison.command))]);
}
