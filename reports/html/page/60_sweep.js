// Many points: the front, what leads to it, and every point with its reason.

const kMetrics = [
  ["step_time_s", "step time", format.seconds, -1], ["reserved_bytes", "memory", format.bytes, -1], ["tokens_per_s", "tokens/s", format.count, 1],
  ["mfu", "MFU", format.percent, 1], ["devices", "devices", format.count, -1], ["billion_tokens_usd", "cost per billion tokens", format.usd, -1],
  ["step_usd", "cost of a step", format.usd, -1], ["step_j", "energy of a step", format.joules, -1], ["traffic_bytes", "traffic of a step", format.bytes, -1],
];
const kAllRows = 300;

function shortPaths(paths) {
  const last = (path) => path.slice(path.lastIndexOf(".") + 1);
  return paths.map((path) => paths.filter((other) => last(other) === last(path)).length === 1 ? last(path) : path);
}
function pointWords(row, paths, titles) { return paths.map((path, i) => titles[i] + " " + row.set[path]).join(", "); }

function metricAxis(name, tell, key, rows) {
  if (tell !== format.bytes) return axis(name, tell);
  const step = byteStep(Math.max(...rows.map((row) => row[key] || 0)));
  return axis(name, tell, { beginAtZero: true, ticks: { stepSize: step, callback: (value) => format.bytes(value).replace(/\.0+(?=\D)/, "") } });
}

/// Rows by two of their results, which the reader chooses. Groups: [label, rows, colour, radius, faint?]; `start`: across and up.
function cloud(id, groups, metrics, start, words, told) {
  const rows = groups.flatMap(([, list]) => list), drawn = groups.filter(([, list]) => list.length);
  const pick = (label, value) => el("select", { "aria-label": label }, metrics.map(([key, name]) => el("option", { value: key, selected: key === value }, name)));
  const x = pick("horizontal", start[0]), y = pick("vertical", start[1]), holder = el("div", {}), chosen = el("p", { class: "dim", "aria-live": "polite" }, "Click a point for its settings.");
  const show = () => {
    const [kx, nx, tx] = metrics.find(([key]) => key === x.value), [ky, ny, ty] = metrics.find(([key]) => key === y.value);
    holder.replaceChildren(figure(id, ny + " against " + nx + " of " + rows.length + " points" + told, 400, {
      type: "scatter",
      data: { datasets: drawn.map(([label, list, colour, radius, faint]) => ({ label, data: list.map((row) => ({ x: row[kx], y: row[ky], row })), backgroundColor: colour + (faint ? "30" : "c0"), borderColor: colour, pointRadius: radius, pointHoverRadius: radius + 3 })) },
      options: {
        scales: { x: metricAxis(nx, tx, kx, rows), y: metricAxis(ny, ty, ky, rows) },
        onClick: (event, items, chart) => { if (items.length) chosen.textContent = words(chart.data.datasets[items[0].datasetIndex].data[items[0].index].row); },
        plugins: { tooltip: { callbacks: { label: ({ raw }) => [words(raw.row), nx + " " + tx(raw.x) + ", " + ny + " " + ty(raw.y)] } } },
      },
    }));
    runLater();
  };
  for (const select of [x, y]) select.addEventListener("change", show);
  later(show);
  return [el("div", { class: "controls" }, el("span", { class: "dim" }, "across"), x, el("span", { class: "dim" }, "up"), y), holder, chosen];
}

function scatter(rows, front, paths, titles, metrics) {
  const target = (report.sweep.pareto_of || ["step_time_s", "reserved_bytes"]).filter((key) => metrics.some(([name]) => name === key));
  return cloud("scatter", [
    ["on the Pareto front", rows.filter((row) => front.has(row.point)), style("--accent"), 6],
    ["fits", rows.filter((row) => row.status === "fits" && !front.has(row.point)), style("--c-backward"), 3.5],
    ["does not fit", rows.filter((row) => row.status === "does not fit"), style("--bad"), 3, true],
  ], metrics, [target[1] || "reserved_bytes", target[0] || "step_time_s"], (row) => pointWords(row, paths, titles), ", " + front.size + " of them on the front");
}

/// A line a point through its settings and results, each axis from its lowest to its highest.
function parallel(rows, front, paths, titles, metrics) {
  const shown = rows.filter((row) => front.has(row.point)).concat(rows.filter((row) => row.status === "fits" && !front.has(row.point)).sort((a, b) => a.step_time_s - b.step_time_s).slice(0, 250));
  if (shown.length < 2) return null;
  const axes = paths.map((path, i) => {
    const values = [...new Set(shown.map((row) => row.set[path]))], numbers = values.every((value) => value !== "" && Number.isFinite(Number(value)));
    values.sort((a, b) => numbers ? Number(a) - Number(b) : 0);
    return { name: titles[i], low: values[0], high: values[values.length - 1], at: (row) => values.length > 1 ? values.indexOf(row.set[path]) / (values.length - 1) : 0.5, tell: (row) => row.set[path] };
  });
  for (const [key, name, tell] of metrics.filter(([key]) => key === "step_time_s" || key === "reserved_bytes" || key === "billion_tokens_usd" || key === "step_j")) {
    const values = shown.map((row) => row[key]), low = Math.min(...values), high = Math.max(...values);
    axes.push({ name, low: tell(low), high: tell(high), at: (row) => high > low ? (row[key] - low) / (high - low) : 0.5, tell: (row) => tell(row[key]) });
  }
  const cut = (text) => String(text).length > 16 ? String(text).slice(0, 15) + "\u2026" : String(text);
  const accent = style("--accent"), plain = style("--c-backward");
  return figure("parallel", "A line for each of " + shown.length + " points through their settings and results", 340, {
    type: "line",
    data: {
      labels: axes.map((one) => [one.name, cut(one.low) + " \u2192 " + cut(one.high)]),
      datasets: shown.map((row) => ({ data: axes.map((one) => one.at(row)), row, borderColor: front.has(row.point) ? accent : plain + "50", borderWidth: front.has(row.point) ? 2.2 : 1, pointRadius: front.has(row.point) ? 2.5 : 0, pointBackgroundColor: accent, pointHitRadius: 6, order: front.has(row.point) ? 0 : 1 })),
    },
    options: {
      interaction: { mode: "nearest", intersect: false, axis: "xy" },
      scales: { x: { grid: { color: style("--dim") }, ticks: { autoSkip: false } }, y: { display: false, min: -0.03, max: 1.03 } },
      plugins: { legend: { display: false }, tooltip: { filter: (_, index) => index < 1, callbacks: { title: () => "", label: (item) => axes.map((one) => one.name + " " + one.tell(item.dataset.row)) } } },
    },
  }, null, null, "From the lowest to the highest value of each axis, bottom to top. Blue: the Pareto front; " + shown.length + " lines are drawn.");
}

function sweepTable(rows, front, paths, titles, metrics) {
  const statuses = [...new Set(rows.map((row) => row.status))], hidden = new Set();
  const columns = [["point", (row) => row.point, 1], ...paths.map((path, i) => [titles[i], (row) => row.set[path], 0]),
    ...metrics.map(([key, name, tell]) => [name, (row) => row[key], 1, tell]), ["status", (row) => row.status, 0]];
  let order = columns.findIndex(([name]) => name === "step time"), up = true, limit = kAllRows;
  const holder = el("div", { class: "scroll tall" }), told = el("p", { class: "dim" });
  const compare = (a, b) => {
    if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
    const numbers = Number.isFinite(Number(a)) && Number.isFinite(Number(b));
    return (up ? 1 : -1) * (numbers ? Number(a) - Number(b) : String(a).localeCompare(String(b)));
  };
  const tag = (row) => {
    const kind = front.has(row.point) ? "good" : row.status === "fits" ? "" : row.status === "does not fit" ? "warn" : "bad";
    return [el("span", { class: "tag " + kind }, front.has(row.point) ? "front" : row.status), row.reason ? " " + row.reason : ""];
  };
  const show = () => {
    const list = rows.filter((row) => !hidden.has(row.status)).sort((a, b) => compare(columns[order][1](a), columns[order][1](b)));
    const head = columns.map(([name, , numeric], i) => el("th", { scope: "col", class: numeric ? "n" : null, "aria-sort": i === order ? (up ? "ascending" : "descending") : null },
      el("button", { type: "button", onclick: () => { up = i === order ? !up : true; order = i; show(); } }, name + (i === order ? (up ? " \u2191" : " \u2193") : ""))));
    const body = list.slice(0, limit).map((row) => el("tr", {}, columns.map(([name, value, numeric, tell]) => {
      if (name === "status") return el("td", {}, tag(row));
      const is = value(row);
      return el("td", { class: numeric ? "n" : null }, is === undefined ? "" : tell ? tell(is) : String(is));
    })));
    holder.replaceChildren(el("table", { id: "points" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)));
    told.replaceChildren(list.length > limit ? el("button", { class: "tool", type: "button", onclick: () => { limit += 2000; show(); } }, "Show more of " + list.length) : list.length + " points");
  };
  const chips = statuses.map((status) => {
    const chip = el("button", { class: "chip", type: "button", "aria-pressed": "true", "data-status": status }, status + " (" + rows.filter((row) => row.status === status).length + ")");
    chip.addEventListener("click", () => {
      const on = chip.getAttribute("aria-pressed") !== "true";
      chip.setAttribute("aria-pressed", String(on));
      if (on) hidden.delete(status); else hidden.add(status);
      show();
    });
    return chip;
  });
  show();
  return [el("div", { class: "controls" }, chips), holder, told];
}

function renderSweep() {
  const sweep = report.sweep, rows = sweep.rows, front = new Set(sweep.pareto), paths = sweep.paths, titles = shortPaths(paths);
  const done = rows.filter((row) => row.step_time_s !== undefined), fits = rows.filter((row) => row.status === "fits");
  const metrics = kMetrics.filter(([key]) => done.some((row) => row[key] !== undefined) && (key !== "devices" || new Set(done.map((row) => row.devices)).size > 1));
  const fastest = fits.reduce((best, row) => !best || row.step_time_s < best.step_time_s ? row : best, null);
  const leanest = fits.reduce((best, row) => !best || row.reserved_bytes < best.reserved_bytes ? row : best, null);
  const cheapest = fits.filter((row) => row.billion_tokens_usd !== undefined).reduce((best, row) => !best || row.billion_tokens_usd < best.billion_tokens_usd ? row : best, null);
  const failed = rows.filter((row) => row.status !== "fits");
  const lead = fastest ? "Of " + rows.length + " points " + fits.length + " fit. The fastest step is " + format.seconds(fastest.step_time_s) + " with " + pointWords(fastest, paths, titles) + "." : "None of " + rows.length + " points fits.";
  const head = el("header", {}, el("p", { class: "eyebrow" }, "Sweep"), el("h1", {}, sweep.scenario && sweep.scenario.name ? sweep.scenario.name : String(sweep.scenario || "")), el("p", { class: "lead" }, lead),
    el("div", { class: "tiles" }, fastest ? tile("Fastest that fits", format.seconds(fastest.step_time_s), pointWords(fastest, paths, titles), "first") : null,
      leanest ? tile("Least memory", format.bytes(leanest.reserved_bytes), pointWords(leanest, paths, titles)) : null,
      cheapest ? tile("Cheapest", format.usd(cheapest.billion_tokens_usd), "per billion tokens; " + pointWords(cheapest, paths, titles)) : null,
      tile("Pareto front", String(front.size), "points that no other one beats"), tile("Fit", fits.length + " of " + rows.length, failed.length ? failed.length + " do not, each with its reason below" : "all of them", fits.length ? "good" : "bad", fits.length / Math.max(1, rows.length))));
  const reasons = new Map();
  for (const row of failed) { const why = row.status + (row.reason && row.status !== "does not fit" ? ": " + row.reason : ""); reasons.set(why, (reasons.get(why) || 0) + 1); }
  return page(head, [
    done.length ? section("front", "What can be had", "Every point by two of its results; hover for its settings.", scatter(done, front, paths, titles, metrics)) : null,
    done.length > 1 ? section("paths", "What leads there", null, parallel(done, front, paths, titles, metrics)) : null,
    reasons.size ? section("reasons", "What does not work, and why", null, table([["points", 1], ["reason"]], [...reasons].sort((a, b) => b[1] - a[1]).slice(0, 30).map(([why, count]) => [String(count), why]), "Reasons")) : null,
    section("table", "All points", null, sweepTable(rows, front, paths, titles, metrics)),
    section("reproduce", "Reproduce", null, command(sweep.command), facts([["scenario", sweep.scenario && sweep.scenario.file], ["scenario hash", sweep.hash || (sweep.scenario && sweep.scenario.hash)], ["Paceline", report.version], ["stack", sweep.stack], ["profile", (sweep.profiles || []).join(" + ")], ["engine", sweep.engine]]))]);
}
