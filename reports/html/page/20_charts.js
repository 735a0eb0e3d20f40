// Charts of Chart.js: one look, a label for screen readers and a table behind each.

function chartDefaults() {
  const d = Chart.defaults;
  d.color = style("--dim");
  d.borderColor = style("--line");
  d.font.family = getComputedStyle(document.body).fontFamily;
  d.font.size = 12;
  d.animation = false;
  d.maintainAspectRatio = false;
  d.responsive = true;
  d.plugins.legend.position = "bottom";
  d.plugins.legend.labels.boxWidth = 10;
  d.plugins.legend.labels.boxHeight = 10;
  d.plugins.tooltip.backgroundColor = style("--ink");
  d.plugins.tooltip.titleColor = style("--card");
  d.plugins.tooltip.bodyColor = style("--card");
}

/// A chart with its caption and the same numbers as a table.
function figure(id, label, height, config, columns, rows, caption) {
  const canvas = el("canvas", { role: "img", "aria-label": label, id: "chart-" + id });
  const node = el("figure", {}, caption ? el("figcaption", {}, caption) : null,
    el("div", { class: "chart", style: { height: height + "px" } }, canvas),
    columns ? el("details", { class: "no-print" }, el("summary", {}, "The numbers as a table"),
      el("div", { class: "scroll tall" }, table(columns, rows, label))) : null);
  later(() => {
    if (paceline.charts[id]) paceline.charts[id].destroy();
    paceline.charts[id] = new Chart(canvas, config);
  });
  return node;
}

// Charts need their place on the page: they are made once all of it stands.
const waiting = [];
function later(work) { waiting.push(work); }
function runLater() { while (waiting.length) waiting.shift()(); }

/// Steps of binary units for axes of bytes: 1, 2, 5, 10, ... of KiB, MiB, GiB.
function byteStep(most) {
  const unit = Math.pow(1024, Math.max(0, Math.floor(Math.log(Math.max(most, 1) / 6) / Math.log(1024))));
  for (const times of [1, 2, 5, 10, 20, 50, 100, 200, 500]) if (most / (unit * times) <= 7) return unit * times;
  return unit * 1000;
}

function byteAxis(most) {
  const step = byteStep(most);
  return { stacked: true, min: 0, max: Math.ceil(most * 1.02 / step) * step, ticks: { stepSize: step, callback: (value) => format.bytes(value).replace(/\.0+(?=\D)/, "") } };
}

function axis(text, tick, more) {
  return Object.assign({
    title: { display: Boolean(text), text }, grid: { color: style("--line") },
    ticks: { callback: (value) => tick(value), maxTicksLimit: 8 },
  }, more);
}

/// Areas on each other over time. `series`: [name, values, colour]; a value holds for its bin.
function areas(times, series, tick, limit) {
  const datasets = series.map(([name, values, colour]) => ({
    label: name, data: values.map((y, i) => ({ x: times[i], y })), backgroundColor: colour + "cc", borderColor: colour, borderWidth: 1,
    fill: true, pointRadius: 0, stepped: "middle", stack: "all",
  }));
  const most = Math.max(limit ? limit[1] : 0, ...times.map((_, i) => series.reduce((sum, [, values]) => sum + values[i], 0)));
  if (limit) {
    datasets.push({
      label: limit[0], data: [{ x: times[0], y: limit[1] }, { x: times[times.length - 1], y: limit[1] }], borderColor: style("--bad"),
      borderDash: [6, 4], borderWidth: 1.5, pointRadius: 0, fill: false, stack: "limit",
    });
  }
  return {
    type: "line", data: { datasets },
    options: {
      parsing: false, normalized: true, interaction: { mode: "index", intersect: false },
      scales: {
        x: axis("time in the step", format.seconds, { type: "linear", min: times[0], max: times[times.length - 1], ticks: { includeBounds: false, maxTicksLimit: 10, callback: (value) => format.seconds(value) } }),
        y: axis("", tick, tick === format.bytes ? byteAxis(most) : { stacked: true, beginAtZero: true }),
      },
      plugins: { tooltip: { callbacks: {
        title: (items) => items.length ? "at " + format.seconds(items[0].parsed.x) : "",
        label: (item) => item.dataset.label + ": " + tick(item.parsed.y),
      } } },
    },
  };
}

/// Bars to the right, one each.
function bars(names, values, colours, tick) {
  return {
    type: "bar", data: { labels: names, datasets: [{ data: values, backgroundColor: colours, borderRadius: 4, maxBarThickness: 26 }] },
    options: {
      indexAxis: "y",
      scales: { x: axis("", tick, tick === format.bytes ? byteAxis(Math.max(...values)) : { beginAtZero: true }), y: { grid: { display: false } } },
      plugins: { legend: { display: false }, tooltip: { callbacks: { label: (item) => tick(item.parsed.x) } } },
    },
  };
}
