// Elements, numbers and colours. All text of the data goes through textContent: none of it is markup.

const report = JSON.parse(document.getElementById("data").textContent);
// What tests and the curious may look at.
const paceline = { report, charts: {}, timelines: [], errors: [] };
window.paceline = paceline;

/// An element: attributes, then children (texts or elements).
function el(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "style") Object.assign(element.style, value);
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

function digits(value, count) {
  return value.toLocaleString("en", { minimumFractionDigits: count, maximumFractionDigits: count, useGrouping: false });
}
/// Three significant digits, never an exponent.
function three(value) {
  const size = Math.abs(value);
  return digits(value, size >= 99.95 || size === 0 ? 0 : size >= 9.995 ? 1 : 2);
}
function scaled(value, base, units) {
  let size = Math.abs(value), index = 0;
  while (size >= base && index + 1 < units.length) { size /= base; value /= base; ++index; }
  return three(value) + "\u00a0" + units[index];
}
const format = {
  seconds(s) {
    const size = Math.abs(s);
    if (size >= 172800) return three(s / 86400) + "\u00a0days";
    if (size >= 7200) return three(s / 3600) + "\u00a0h";
    if (size >= 1 || s === 0) return three(s) + "\u00a0s";
    if (size >= 1e-3) return three(s * 1e3) + "\u00a0ms";
    return three(s * 1e6) + "\u00a0\u00b5s";
  },
  bytes: (b) => scaled(b, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]),
  count(n) {
    const size = Math.abs(n);
    if (size >= 1e15) return n.toExponential(2);
    return size < 1000 ? (Number.isInteger(n) ? String(n) : three(n)) : scaled(n, 1000, ["", "k", "M", "B", "T"]);
  },
  percent: (f) => digits(100 * f, 1) + "\u00a0%",
  usd(v) {
    const size = Math.abs(v);
    if (size >= 1e6) return "$" + three(v / 1e6) + "\u00a0M";
    if (size >= 1e4) return "$" + three(v / 1e3) + "\u00a0k";
    return "$" + digits(v, size >= 100 ? 0 : size >= 1 ? 2 : 4);
  },
  watts: (w) => scaled(w, 1000, ["W", "kW", "MW", "GW"]),
  joules: (j) => j >= 3.6e6 ? scaled(j / 3600, 1000, ["Wh", "kWh", "MWh", "GWh"]) : scaled(j, 1000, ["J", "kJ", "MJ"]),
  rate: (f) => scaled(f, 1000, ["", "k", "M", "G", "T", "P", "E"]),
};

// Colours of the style sheet; forgotten when light becomes dark.
const styles = new Map();
function style(name) {
  if (!styles.has(name)) styles.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return styles.get(name);
}

const kPartColours = {
  compute: "--c-forward", optimizer: "--c-optimizer", codec: "--c-recompute", exposed_tp: "--c-tp", exposed_cp: "--c-cp",
  exposed_ep: "--c-ep", exposed_pp: "--c-pp", exposed_dp: "--c-dp", offload: "--c-copy", host: "--c-host",
  straggler: "--c-weight", bubble: "--c-idle",
};
const kPartMeaning = {
  compute: "kernels that do the model's work", optimizer: "the update of the weights", codec: "packing and unpacking of compressed messages",
  exposed_tp: "waiting for tensor-parallel exchanges", exposed_cp: "waiting for context-parallel exchanges",
  exposed_ep: "waiting for exchanges of experts", exposed_pp: "waiting for messages between stages",
  exposed_dp: "waiting for gradients or parameters", offload: "waiting for copies to or from the host",
  host: "waiting for the host to launch work", straggler: "waiting for the rank with most work",
  bubble: "idle: no work is ready (pipeline bubble)",
};
const kMemoryColours = {
  parameters: "--c-forward", gradients: "--c-backward", optimizer: "--c-optimizer", activations: "--c-recompute",
  logits: "--c-tp", weight_versions: "--c-weight", buffers: "--c-pp", workspace: "--c-copy", runtime: "--c-host",
};
const kStreamColours = [
  ["pp", "--c-pp"], ["tp", "--c-tp"], ["cp", "--c-cp"], ["ep", "--c-ep"], ["dp", "--c-dp"], ["copy", "--c-copy"],
  ["host", "--c-host"], ["compute", "--c-forward"],
];
function streamColour(name) {
  const found = kStreamColours.find(([start]) => name.startsWith(start));
  return style(found ? found[1] : "--c-other");
}
function title(key) { return key.replace(/_/g, " "); }
function swatch(colour) { return el("span", { class: "swatch", style: { background: colour }, "aria-hidden": "true" }); }

/// A table: columns are [heading, numeric?]; cells are texts or elements.
function table(columns, rows, caption) {
  return el("table", {},
    caption ? el("caption", { class: "visually-hidden" }, caption) : null,
    el("thead", {}, el("tr", {}, columns.map(([name, numeric]) => el("th", { scope: "col", class: numeric ? "n" : null }, name)))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, i) => el("td", { class: columns[i][1] ? "n" : null }, cell))))));
}
function section(id, heading, note, ...children) {
  return el("section", { class: "card", id, "aria-labelledby": id + "-h" }, el("h2", { id: id + "-h" }, heading),
    note ? el("p", { class: "dim" }, note) : null, ...children);
}
function facts(pairs) {
  return el("dl", { class: "facts" }, pairs.filter(([, value]) => value).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]).flat());
}
function tile(name, value, more, kind, share) {
  return el("div", { class: "tile " + (kind || "") }, el("p", { class: "name" }, name), el("p", { class: "value" }, value),
    more ? el("p", { class: "more" }, more) : null,
    share === undefined ? null
      : el("div", { class: "gauge", "aria-hidden": "true" }, el("i", { style: { width: Math.min(100, 100 * share) + "%" } })));
}
function command(text) {
  const done = el("span", { class: "visually-hidden", "aria-live": "polite" });
  const copy = () => navigator.clipboard && navigator.clipboard.writeText(text).then(() => { done.textContent = "copied"; });
  return el("div", { class: "command" }, el("code", {}, text), el("button", { class: "tool", type: "button", onclick: copy }, "Copy"), done);
}
