// The step as spans: a row a stream of a rank class, on a canvas that only draws what is visible.

const kRow = 15, kHead = 22, kAxis = 24, kMargin = 92, kTallest = 620;

function passColour(kind) {
  const pass = kind.pass || "";
  if (kind.kind === "optimizer" || pass === "U" || pass === "N") return style("--c-optimizer");
  if (pass.startsWith("F")) return style("--c-forward");
  if (pass.startsWith("W")) return style("--c-weight");
  if (pass.startsWith("R")) return style("--c-recompute");
  if (pass.startsWith("B") || pass.startsWith("I")) return style("--c-backward");
  if (kind.kind === "host") return style("--c-host");
  return style("--c-other");
}
const kPassWords = { F: "forward", B: "input gradient", W: "weight gradient", BW: "backward", R: "recompute", U: "update" };
function passWords(kind) { return kPassWords[kind.pass] || (kind.kind === "optimizer" ? "optimizer" : kind.pass || kind.name); }

/// The columns of the data as arrays of numbers: start and end of every span of a row.
function unpackRows(spans) {
  return spans.rows.map((row) => {
    const count = row.gap.length, start = new Float64Array(count), end = new Float64Array(count);
    let at = 0;
    for (let i = 0; i < count; ++i) {
      start[i] = at + row.gap[i];
      end[i] = at = start[i] + row.length[i];
    }
    return { lane: row.lane, stream: row.stream, start, end, kind: row.kind, microbatch: row.microbatch };
  });
}

/// First index whose end lies after `time`.
function firstAfter(end, time) {
  let low = 0, high = end.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (end[middle] > time) high = middle; else low = middle + 1;
  }
  return low;
}

/// Timelines that share one axis: what is visible, in seconds.
class TimeView {
  constructor(length) { this.length = length; this.from = 0; this.to = length; this.members = []; }
  show(from, to) {
    const span = Math.min(Math.max(to - from, this.length * 1e-6), this.length * 1.02);
    from = Math.min(Math.max(from, -0.01 * this.length), 1.01 * this.length - span);
    this.from = from;
    this.to = from + span;
    for (const member of this.members) member.refresh();
  }
  zoom(factor, around) { this.show(around - (around - this.from) * factor, around + (this.to - around) * factor); }
  pan(share) { const by = share * (this.to - this.from); this.show(this.from + by, this.to + by); }
  reset() { this.show(0, this.length); }
}

class Timeline {
  constructor(spans, view, name) {
    this.spans = spans;
    this.view = view;
    this.name = name;
    this.rows = unpackRows(spans);
    this.colours = spans.kinds.map(passColour);
    this.streams = [...new Set(this.rows.map((row) => row.stream))];
    for (const kind of spans.kinds) for (const slice of kind.inner || []) if (!this.streams.includes(slice[0])) this.streams.push(slice[0]);
    this.streams.sort((a, b) => a - b);
    this.hidden = new Set();
    this.stage = -1;
    this.drawn = 0;
    this.canvas = el("canvas", {});
    this.space = el("div", { "aria-hidden": "true" });
    this.box = el("div", {
      class: "timeline", tabindex: "0", role: "application",
      "aria-label": name + ": timeline of the step. Left and right arrows move, plus and minus zoom, 0 shows all. The same as a table follows.",
    }, this.canvas, this.space);
    this.tip = el("div", { class: "tip", hidden: true, role: "status" });
    this.details = el("p", { class: "dim", "aria-live": "polite" }, "\u00a0");
    view.members.push(this);
    paceline.timelines.push(this);
    this.layout();
    this.listen();
    new ResizeObserver(() => this.refresh()).observe(this.box);
  }

  /// Which rows there are, and where.
  layout() {
    this.lines = [];
    let y = 0;
    const lanes = [...new Set(this.rows.map((row) => row.lane))];
    for (const lane of lanes) {
      const who = this.spans.lanes[lane] || { name: "rank class " + lane, stages: [] };
      if (this.stage >= 0 && !who.stages.includes(this.stage)) continue;
      this.lines.push({ y, head: who.name });
      y += kHead;
      const rows = this.rows.filter((row) => row.lane === lane), compute = rows.find((row) => row.stream === 0);
      const inner = new Set();
      if (compute) for (const k of new Set(compute.kind)) for (const slice of this.spans.kinds[k].inner || []) inner.add(slice[0]);
      for (const stream of this.streams) {
        if (this.hidden.has(stream)) continue;
        const row = rows.find((r) => r.stream === stream);
        if (row) this.lines.push({ y, row, stream });
        else if (inner.has(stream)) this.lines.push({ y, row: compute, stream, inside: true });
        else continue;
        y += kRow;
      }
      y += 4;
    }
    this.height = y;
    this.space.style.height = Math.max(0, y + kAxis - Math.min(y + kAxis, kTallest)) + "px";
    this.box.style.height = Math.min(y + kAxis, kTallest) + 2 + "px";
    this.refresh();
  }

  refresh() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; this.draw(); });
  }

  x(time) { return kMargin + (time - this.view.from) / (this.view.to - this.view.from) * (this.width - kMargin); }
  timeAt(x) { return this.view.from + (x - kMargin) / (this.width - kMargin) * (this.view.to - this.view.from); }

  draw() {
    const width = this.box.clientWidth, height = this.box.clientHeight, dense = window.devicePixelRatio || 1;
    if (!width) return;
    if (this.canvas.width !== Math.round(width * dense) || this.canvas.height !== Math.round(height * dense)) {
      this.canvas.width = Math.round(width * dense);
      this.canvas.height = Math.round(height * dense);
      this.canvas.style.width = width + "px";
      this.canvas.style.height = height + "px";
    }
    this.width = width - 2;
    const began = performance.now(), g = this.canvas.getContext("2d");
    g.setTransform(dense, 0, 0, dense, 0, 0);
    g.clearRect(0, 0, width, height);
    g.font = "11px " + getComputedStyle(document.body).fontFamily;
    g.textBaseline = "middle";
    this.drawn = 0;
    const top = this.box.scrollTop, ticks = this.ticks();
    g.fillStyle = style("--line");
    for (const tick of ticks) g.fillRect(this.x(tick), kAxis - 5, 1, height);
    for (const line of this.lines) {
      const y = line.y - top + kAxis;
      if (y > height || y + kHead < kAxis) continue;
      if (line.head !== undefined) this.drawHead(g, line, y);
      else if (line.inside) this.drawInside(g, line, y);
      else this.drawRow(g, line, y);
    }
    this.drawAxis(g, height, ticks);
    this.seconds = (performance.now() - began) / 1000;
  }

  drawHead(g, line, y) {
    g.fillStyle = style("--soft");
    g.fillRect(0, y, this.width + 2, kHead - 4);
    g.fillStyle = style("--ink");
    g.fillText(line.head, 8, y + kHead / 2 - 2, this.width - 16);
  }

  label(g, line, y) {
    g.fillStyle = style("--dim");
    g.fillText(this.spans.streams[line.stream], 8, y + kRow / 2, kMargin - 14);
  }

  /// Spans narrower than a pixel are drawn once a pixel: the cost follows the width, not the number.
  drawRow(g, line, y) {
    this.label(g, line, y);
    const row = line.row, unit = this.spans.unit_s, scale = (this.width - kMargin) / (this.view.to - this.view.from);
    const own = line.stream === 0 ? null : streamColour(this.spans.streams[line.stream]);
    const last = this.view.to / unit, tall = kRow - 3;
    let i = firstAfter(row.end, this.view.from / unit);
    while (i < row.start.length && row.start[i] < last) {
      const left = Math.max(kMargin, this.x(row.start[i] * unit)), right = Math.min(this.width, this.x(row.end[i] * unit));
      const kind = this.spans.kinds[row.kind[i]], off = this.stage >= 0 && kind.stage !== undefined && kind.stage !== this.stage;
      g.globalAlpha = off ? 0.2 : 1;
      g.fillStyle = own || this.colours[row.kind[i]];
      const wide = Math.max(right - left - (right - left > 3 ? 0.7 : 0), 0.8);
      g.fillRect(left, y + 1, wide, tall);
      ++this.drawn;
      if (wide > 34 && !off) this.text(g, line, row, i, left, y, wide);
      // The next one that reaches beyond this pixel.
      i = right - left >= 1 ? i + 1 : Math.max(i + 1, firstAfter(row.end, row.start[i] + 1 / (scale * unit)));
    }
    g.globalAlpha = 1;
  }

  text(g, line, row, i, left, y, wide) {
    const words = this.words(line, row, i);
    g.fillStyle = "#fff";
    if (g.measureText(words).width < wide - 6) g.fillText(words, left + 4, y + kRow / 2);
  }

  /// Collectives inside actions: one by one where there is room, else how far they reach.
  drawInside(g, line, y) {
    this.label(g, line, y);
    const row = line.row, unit = this.spans.unit_s, last = this.view.to / unit;
    g.fillStyle = streamColour(this.spans.streams[line.stream]);
    let i = firstAfter(row.end, this.view.from / unit), pixel = -1;
    for (; i < row.start.length && row.start[i] < last; ++i) {
      const kind = this.spans.kinds[row.kind[i]];
      if (!kind.inner) continue;
      const left = this.x(row.start[i] * unit), right = this.x(row.end[i] * unit);
      if (right - left < 24) {
        if (Math.floor(right) === pixel) continue;
        pixel = Math.floor(right);
        g.globalAlpha = 0.35;
        g.fillRect(Math.max(kMargin, left), y + 1, Math.max(right - Math.max(kMargin, left) - 0.5, 0.8), kRow - 3);
        g.globalAlpha = 1;
        ++this.drawn;
        continue;
      }
      const stretch = (right - left) / kind.alone;
      for (const [stream, , start, length] of kind.inner) {
        if (stream !== line.stream) continue;
        const from = Math.max(kMargin, left + start * stretch), to = left + (start + length) * stretch;
        if (to < kMargin || from > this.width) continue;
        g.fillRect(from, y + 1, Math.max(to - from, 0.8), kRow - 3);
        ++this.drawn;
      }
    }
  }

  ticks() {
    const span = this.view.to - this.view.from, room = Math.max(2, Math.floor((this.width - kMargin) / 90)), out = [];
    let step = Math.pow(10, Math.floor(Math.log10(span / room)));
    for (const times of [1, 2, 5, 10]) if (span / (step * times) <= room) { step *= times; break; }
    for (let k = Math.max(0, Math.ceil(this.view.from / step)); k * step <= this.view.to; ++k) {
      if (k * step <= this.view.length * 1.001) out.push(Number((k * step).toPrecision(12)));
    }
    return out;
  }

  drawAxis(g, height, ticks) {
    g.fillStyle = style("--card");
    g.fillRect(0, 0, this.width + 2, kAxis - 2);
    g.fillStyle = style("--dim");
    g.textAlign = "center";
    for (const tick of ticks) g.fillText(format.seconds(tick), Math.min(Math.max(this.x(tick), kMargin + 14), this.width - 22), 11);
    g.textAlign = "left";
    const unit = this.spans.unit_s, window = this.spans.window;
    g.fillStyle = style("--accent");
    for (const edge of window) {
      if (edge > 0 && edge < this.spans.makespan) g.fillRect(this.x(edge * unit), kAxis - 5, 2, height);
    }
  }

  words(line, row, i) {
    const kind = this.spans.kinds[row.kind[i]], microbatch = row.microbatch[i];
    if (kind.stage === undefined) return kind.name;
    return kind.stage + (kind.pass || "") + (microbatch >= 0 ? microbatch : "") + (kind.slice >= 0 ? "." + kind.slice : "");
  }

  /// What lies under a point, or null.
  find(x, y) {
    if (x < kMargin || y < kAxis) return null;
    const at = y - kAxis + this.box.scrollTop, line = this.lines.find((l) => l.row && at >= l.y && at < l.y + kRow);
    if (!line) return null;
    const unit = this.spans.unit_s, near = 1.5 * (this.view.to - this.view.from) / (this.width - kMargin) / unit;
    const time = this.timeAt(x) / unit, i = firstAfter(line.row.end, time - near);
    if (i >= line.row.start.length || line.row.start[i] > time + near) return null;
    return { line, row: line.row, i };
  }

  describe({ line, row, i }) {
    const unit = this.spans.unit_s, kind = this.spans.kinds[row.kind[i]], stream = this.spans.streams[line.stream];
    const rows = [];
    if (line.inside) rows.push(stream + " exchanges inside " + this.words(line, row, i));
    else if (kind.stage !== undefined) rows.push(passWords(kind) + ", stage " + kind.stage + ", microbatch " + row.microbatch[i]);
    rows.push(format.seconds((row.end[i] - row.start[i]) * unit) + " from " + format.seconds(row.start[i] * unit));
    if (kind.bytes) rows.push(format.bytes(kind.bytes) + " sent per rank");
    if (kind.flops) rows.push(format.rate(kind.flops) + "FLOP, " + format.rate(kind.flops / ((row.end[i] - row.start[i]) * unit)) + "FLOP/s per rank");
    rows.push((this.spans.lanes[row.lane] || { name: "" }).name);
    return { head: kind.stage === undefined ? kind.name : kind.kind === "message" ? kind.name + " " + this.words(line, row, i) : this.words(line, row, i), rows };
  }

  showTip(event) {
    const box = this.canvas.getBoundingClientRect(), found = this.find(event.clientX - box.left, event.clientY - box.top);
    this.tip.hidden = !found;
    if (!found) return;
    const said = this.describe(found);
    this.tip.replaceChildren(el("b", {}, said.head), ...said.rows.map((text) => el("div", {}, text)));
    const x = Math.min(event.clientX + 14, window.innerWidth - this.tip.offsetWidth - 8);
    const y = event.clientY + 18 + this.tip.offsetHeight > window.innerHeight ? event.clientY - this.tip.offsetHeight - 12 : event.clientY + 18;
    Object.assign(this.tip.style, { left: Math.max(4, x) + "px", top: y + "px" });
  }

  listen() {
    const box = this.box, view = this.view, pointers = new Map();
    const place = (event) => event.clientX - this.canvas.getBoundingClientRect().left;
    box.addEventListener("scroll", () => this.refresh());
    box.addEventListener("wheel", (event) => {
      if (!(event.ctrlKey || event.metaKey || event.altKey)) {
        if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) { event.preventDefault(); view.pan(event.deltaX / this.width); }
        return;
      }
      event.preventDefault();
      view.zoom(Math.exp(event.deltaY * (event.deltaMode ? 0.05 : 0.002)), this.timeAt(place(event)));
    }, { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, event.clientX);
      this.moved = false;
    });
    window.addEventListener("pointerup", (event) => { pointers.delete(event.pointerId); box.classList.remove("dragging"); });
    window.addEventListener("pointermove", (event) => {
      if (!pointers.has(event.pointerId)) return;
      const before = [...pointers.values()], by = event.clientX - pointers.get(event.pointerId);
      pointers.set(event.pointerId, event.clientX);
      if (Math.abs(by) > 1) this.moved = true;
      box.classList.add("dragging");
      this.tip.hidden = true;
      if (pointers.size === 1) { view.pan(-by / (this.width - kMargin)); return; }
      const after = [...pointers.values()], wide = Math.abs(after[0] - after[1]);
      if (wide > 8) view.zoom(Math.abs(before[0] - before[1]) / wide, this.timeAt(place(event)));
    });
    this.canvas.addEventListener("pointermove", (event) => { if (!pointers.size) this.showTip(event); });
    this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.canvas.addEventListener("dblclick", (event) => view.zoom(0.4, this.timeAt(place(event))));
    this.canvas.addEventListener("click", (event) => {
      if (this.moved) return;
      const area = this.canvas.getBoundingClientRect(), found = this.find(event.clientX - area.left, event.clientY - area.top);
      if (!found) return;
      const said = this.describe(found);
      this.details.textContent = said.head + ": " + said.rows.join("; ");
    });
    box.addEventListener("keydown", (event) => {
      const middle = (view.from + view.to) / 2;
      const act = {
        ArrowLeft: () => view.pan(-0.2), ArrowRight: () => view.pan(0.2), "+": () => view.zoom(0.6, middle), "=": () => view.zoom(0.6, middle),
        "-": () => view.zoom(1 / 0.6, middle), 0: () => view.reset(), Home: () => view.reset(),
      }[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    });
  }

  setHidden(stream, hidden) {
    if (hidden) this.hidden.add(stream); else this.hidden.delete(stream);
    this.layout();
  }
  setStage(stage) { this.stage = stage; this.box.scrollTop = 0; this.layout(); }

  /// How busy every row is, for those who read instead of look.
  table() {
    const unit = this.spans.unit_s, whole = this.spans.makespan;
    const rows = this.rows.map((row) => {
      let busy = 0;
      for (let i = 0; i < row.start.length; ++i) busy += row.end[i] - row.start[i];
      return [(this.spans.lanes[row.lane] || { name: "" }).name, this.spans.streams[row.stream], String(row.start.length),
        format.seconds(busy * unit), format.percent(busy / whole)];
    });
    return table([["ranks"], ["stream"], ["spans", 1], ["busy", 1], ["of the time", 1]], rows, this.name + " as a table");
  }
}

/// Timelines one below the other on a common axis, with their controls. `runs`: [name, view].
function timelineSection(runs, heading) {
  const length = Math.max(...runs.map(([, view]) => view.spans.makespan * view.spans.unit_s));
  const view = new TimeView(length), timelines = runs.map(([name, data]) => new Timeline(data.spans, view, name));
  const names = new Map();
  for (const t of timelines) for (const s of t.streams) names.set(s, t.spans.streams[s]);
  const chips = [...names].sort((a, b) => a[0] - b[0]).map(([stream, name]) => {
    const chip = el("button", { class: "chip", type: "button", "aria-pressed": "true", "data-stream": name, title: "show or hide " + name }, swatch(streamColour(name)), name);
    chip.addEventListener("click", () => {
      const on = chip.getAttribute("aria-pressed") !== "true";
      chip.setAttribute("aria-pressed", String(on));
      for (const t of timelines) t.setHidden(stream, !on);
    });
    return chip;
  });
  const stages = [...new Set(timelines.flatMap((t) => t.spans.lanes.flatMap((lane) => lane.stages)))].sort((a, b) => a - b);
  const select = el("select", { "aria-label": "stage" }, el("option", { value: "-1" }, "all stages"),
    stages.map((stage) => el("option", { value: String(stage) }, "stage " + stage)));
  select.addEventListener("change", () => { for (const t of timelines) t.setStage(Number(select.value)); });
  const tool = (text, label, act) => el("button", { class: "tool", type: "button", "aria-label": label, title: label, onclick: act }, text);
  const middle = () => (view.from + view.to) / 2;
  const passes = new Map();
  for (const t of timelines) t.spans.kinds.forEach((kind, i) => { if (kind.kind === "action" || kind.kind === "kernel" || kind.kind === "optimizer") passes.set(passWords(kind), t.colours[i]); });
  const legend = [...passes].length < 9 ? [...passes].map(([name, colour]) => el("span", {}, swatch(colour), name)) : [];
  const notes = [];
  for (const t of timelines) {
    const shown = new Set(t.rows.map((row) => row.lane)).size;
    if (shown < t.spans.lanes_total) notes.push("Shown are " + shown + " of " + t.spans.lanes_total + " rank classes, the critical and the fullest among them.");
    if (t.spans.cut) notes.push("The step has more spans than a page can hold: the last ones are left out.");
    if (t.spans.window[0] > 0) notes.push("The schedule never drains: between the two marks lies what one or more whole steps take.");
  }
  return section("timeline", heading, "Each row is a stream of a group of ranks that behave alike. Drag to pan; Ctrl and wheel, + and \u2212 or a double click zoom; click a span for its numbers.",
    el("div", { class: "controls" }, chips, stages.length > 1 ? select : null, el("span", { class: "gap" }),
      tool("\u2212", "zoom out", () => view.zoom(1 / 0.6, middle())), tool("+", "zoom in", () => view.zoom(0.6, middle())), tool("All", "show all of the step", () => view.reset())),
    legend.length ? el("div", { class: "controls" }, el("span", { class: "dim" }, "compute:"), legend) : null,
    timelines.map((t) => [runs.length > 1 ? el("h3", {}, t.name) : null, t.box, t.details]).flat(),
    [...new Set(notes)].map((text) => el("p", { class: "dim" }, text)), timelines.map((t) => t.tip),
    el("details", { class: "no-print" }, el("summary", {}, "The timeline as a table"), el("div", { class: "scroll tall" }, timelines.map((t) => t.table()))));
}
