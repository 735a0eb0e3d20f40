// One run: the answer first, then what it is made of.

function perDevice(answer) { return answer.tokens_per_s / Math.max(1, answer.scenario.devices); }

/// The rank class with the largest share of its memory.
function fullest(answer) {
  return answer.memory.per_rank.reduce((best, one) =>
    !best || one.reserved_bytes / one.capacity_bytes > best.reserved_bytes / best.capacity_bytes ? one : best, null);
}

function losses(answer) {
  return Object.entries(answer.breakdown_s).filter(([key, s]) => s > 0 && key !== "compute").sort((a, b) => b[1] - a[1]);
}

/// The answer in two sentences.
function sentence(answer) {
  const step = answer.step_time_s, peak = fullest(answer), lost = losses(answer);
  let text = "A step takes " + format.seconds(step) + "; " + format.percent(answer.breakdown_s.compute / step) + " of it is computing";
  if (lost.length) text += ", and the largest loss is " + (lost[0][0] === "bubble" ? "the pipeline bubble" : kPartMeaning[lost[0][0]] || title(lost[0][0])) + " with " + format.percent(lost[0][1] / step);
  text += ". ";
  if (peak) {
    text += answer.memory.fits ? "It fits: the fullest devices use " : "It does not fit: the fullest devices need ";
    text += format.bytes(peak.reserved_bytes) + " of " + format.bytes(peak.capacity_bytes) + ".";
  }
  if (answer.run) {
    text += " Training on " + format.count(answer.run.tokens) + " tokens takes " + format.seconds(answer.run.time_s);
    if (answer.cost && answer.cost.run_usd) text += " and costs " + format.usd(answer.cost.run_usd);
    text += ", without failures and checkpoints.";
  }
  return text;
}

function tiles(answer) {
  const step = answer.step_time_s, [low, high] = answer.step_time_band_s, peak = fullest(answer), out = [];
  out.push(tile("Step time", format.seconds(step), "band " + format.seconds(low) + " to " + format.seconds(high), "first"));
  if (peak) {
    const share = peak.reserved_bytes / peak.capacity_bytes;
    out.push(tile("Memory", answer.memory.fits ? (share > 0.92 ? "Nearly full" : "Fits") : "Does not fit",
      format.bytes(peak.reserved_bytes) + " of " + format.bytes(peak.capacity_bytes), answer.memory.fits ? (share > 0.92 ? "warn" : "good") : "bad", share));
  }
  out.push(tile("Tokens per second", format.count(answer.tokens_per_s), format.count(perDevice(answer)) + " per device"));
  out.push(tile("MFU", format.percent(answer.mfu), "HFU " + format.percent(answer.hfu) + ", idle " + format.percent(answer.bubble_fraction.makespan)));
  if (answer.run) out.push(tile("Whole run", format.seconds(answer.run.time_s), format.count(answer.run.tokens) + " tokens, " + format.count(answer.run.device_s / 3600) + " device-hours"));
  if (answer.cost) {
    out.push(answer.cost.run_usd ? tile("Cost of the run", format.usd(answer.cost.run_usd), format.usd(answer.cost.billion_tokens_usd) + " per billion tokens")
      : tile("Cost", format.usd(answer.cost.billion_tokens_usd), "per billion tokens; a step " + format.usd(answer.cost.step_usd)));
  }
  if (answer.energy) {
    const watts = answer.energy.step_j / (answer.outer ? answer.outer.step_s || step : step);
    out.push(tile("Power", format.watts(watts), "on average; " + format.joules(answer.energy.step_j) + " a step"));
  }
  return el("div", { class: "tiles" }, out);
}

function timeSection(answer) {
  const step = answer.step_time_s, parts = Object.entries(answer.breakdown_s).filter(([, s]) => s > 0);
  const lane = answer.memory.per_rank.find((one) => one.lane === answer.breakdown_lane);
  const colour = (key) => style(kPartColours[key] || "--c-other");
  const rows = parts.map(([key, s]) => [el("span", {}, swatch(colour(key)), title(key)), format.seconds(s), format.percent(s / step), kPartMeaning[key] || ""]);
  rows.push([el("b", {}, "step"), el("b", {}, format.seconds(step)), el("b", {}, format.percent(1)), ""]);
  return section("time", "Where the time goes", lane ? "On the ranks that compute most (" + lane.ranks + "), every instant goes to the first of compute, communication waited for, copies, host, idle." : null,
    figure("time", "Parts of the step time: " + parts.map(([key, s]) => title(key) + " " + format.percent(s / step)).join(", "), Math.max(120, 30 * parts.length + 50),
      bars(parts.map(([key]) => title(key)), parts.map(([, s]) => s), parts.map(([key]) => colour(key)), format.seconds)),
    el("div", { class: "scroll" }, table([["part"], ["time", 1], ["share", 1], ["what it is"]], rows, "Parts of the step time")));
}

/// "16BW0, the backward of microbatch 0 on stage 16".
function actionWords(label) {
  const found = /^(\d+)([A-Z]+)(\d+)$/.exec(label);
  return found ? label + ", the " + (kPassWords[found[2]] || found[2]) + " of microbatch " + found[3] + " on stage " + found[1] : label;
}

function memoryOf(view, index) {
  const lane = view.memory.lanes[index], bins = view.memory.bins, unit = view.memory.unit_bytes;
  return Object.entries(lane.parts).map(([key, values]) =>
    [title(key), Array.from({ length: bins }, (_, i) => (values.length === 1 ? values[0] : values[i]) * unit), style(kMemoryColours[key] || "--c-other")]);
}

function memorySection(answer, view) {
  const peaks = answer.memory.per_rank, peak = fullest(answer);
  if (!peak) return null;
  const explain = (one) => {
    const parts = Object.entries(one.parts_bytes).filter(([, b]) => b > 0).sort((a, b) => b[1] - a[1]);
    return "The peak of " + format.bytes(one.reserved_bytes) + " comes at " + format.seconds(one.peak_at_s) +
      (one.peak_during ? ", in " + actionWords(one.peak_during) : "") + ": " + parts.map(([key, b]) => title(key) + " " + format.bytes(b)).join(", ") + ".";
  };
  const children = [el("p", {}, "Fullest: " + peak.ranks + ". " + explain(peak))];
  if (view && view.memory) {
    const lanes = view.memory.lanes, length = view.spans.makespan * view.spans.unit_s;
    const times = Array.from({ length: view.memory.bins }, (_, i) => (i + 0.5) * length / view.memory.bins);
    const pick = el("select", { "aria-label": "ranks", id: "memory-lane" }, lanes.map((one, i) =>
      el("option", { value: String(i), selected: one.lane === peak.lane }, (view.spans.lanes[one.lane] || { name: "rank class " + one.lane }).name)));
    const holder = el("div", {});
    const show = () => {
      const index = Math.max(0, Number(pick.value)), one = peaks.find((p) => p.lane === lanes[index].lane) || peak;
      holder.replaceChildren(figure("memory", "Memory over the step of " + one.ranks + ". " + explain(one), 300,
        areas(times, memoryOf(view, index), format.bytes, ["capacity", one.capacity_bytes]),
        [["part"], ["at the peak", 1]], Object.entries(one.parts_bytes).filter(([, b]) => b > 0).map(([key, b]) => [title(key), format.bytes(b)]),
        one === peak ? "The fullest moment of each of " + view.memory.bins + " parts of the step." : explain(one)));
      runLater();
    };
    pick.value = String(Math.max(0, lanes.findIndex((one) => one.lane === peak.lane)));
    pick.addEventListener("change", show);
    later(show);
    if (lanes.length > 1) children.push(el("div", { class: "controls" }, el("label", { for: "memory-lane", class: "dim" }, "ranks"), pick));
    children.push(holder);
  }
  if (peaks.length > 1) {
    children.push(el("details", {}, el("summary", {}, "Peak of every group of ranks"), el("div", { class: "scroll tall" }, table(
      [["ranks"], ["stages"], ["peak", 1], ["of the device", 1], ["at", 1], ["in"]],
      peaks.map((one) => [one.ranks, one.stages.join(" "), format.bytes(one.reserved_bytes), format.percent(one.reserved_bytes / one.capacity_bytes),
        format.seconds(one.peak_at_s), one.peak_during]), "Peaks"))));
  }
  return section("memory", "Memory over the step", null, children);
}

function powerSection(answer, view) {
  if (!view || !view.power) return null;
  const { watts, from_s, to_s } = view.power, keys = ["matrix", "memory", "communication", "idle", "hosts"].filter((key) => watts[key]);
  const colours = { matrix: "--c-forward", memory: "--c-weight", communication: "--c-pp", idle: "--c-idle", hosts: "--c-host" };
  const words = { matrix: "matrix products", memory: "memory-bound kernels", communication: "communication", idle: "waiting", hosts: "hosts" };
  const count = watts[keys[0]].length, times = Array.from({ length: count }, (_, i) => from_s + (i + 0.5) * (to_s - from_s) / count);
  const energy = answer.energy, rows = Object.entries(energy.by_class_j).map(([key, j]) => [words[key] || key, format.joules(j), format.percent(j / energy.step_j)]);
  rows.push(["hosts", format.joules(energy.host_j), format.percent(energy.host_j / energy.step_j)]);
  const run = energy.run_kwh ? " The run takes " + format.joules(energy.run_kwh * 3.6e6) + (energy.pue > 1 ? " at a PUE of " + energy.pue : " without the building's share") +
    (energy.run_co2_kg ? ", " + format.count(energy.run_co2_kg / 1000) + " t of CO2 equivalent" : "") + "." : "";
  return section("power", "Power over the step", "All devices and their hosts, by what the devices do. A step takes " + format.joules(energy.step_j) + " (band " +
    format.joules(energy.step_band_j[0]) + " to " + format.joules(energy.step_band_j[1]) + ")." + run,
    figure("power", "Power over the step, by class", 260, areas(times, keys.map((key) => [words[key], watts[key], style(colours[key])]), format.watts),
      [["class"], ["energy of a step", 1], ["share", 1]], rows));
}

function trafficSection(answer, view) {
  const kinds = Object.entries(answer.traffic_bytes).filter(([, b]) => b > 0);
  if (!kinds.length) return null;
  const children = [figure("traffic", "Bytes sent per step by kind: " + kinds.map(([key, b]) => title(key) + " " + format.bytes(b)).join(", "), 30 * kinds.length + 60,
    bars(kinds.map(([key]) => title(key)), kinds.map(([, b]) => b), kinds.map(([key]) => streamColour(title(key))), format.bytes),
    [["kind"], ["bytes per step", 1]], kinds.map(([key, b]) => [title(key), format.bytes(b)]))];
  if (view && view.traffic && view.spans.lanes.length > 1) children.push(trafficMatrix(view));
  return section("traffic", "Traffic", "Bytes that all ranks send in one step.", children);
}

/// From rows to columns; the shade is on a logarithmic scale.
function trafficMatrix(view) {
  const count = view.spans.lanes.length, cells = new Map(view.traffic.map(([from, to, bytes]) => [from * count + to, bytes]));
  const most = Math.max(...cells.values()), least = Math.min(...cells.values());
  const shade = (bytes) => 0.2 + 0.8 * (most > least ? Math.log(bytes / least) / Math.log(most / least) : 1);
  const colour = style("--accent"), short = count > 12;
  const head = (lane) => short ? String(lane) : view.spans.lanes[lane].ranks;
  const body = view.spans.lanes.map((lane, from) => el("tr", {}, el("th", { scope: "row", title: lane.name }, head(from)),
    view.spans.lanes.map((other, to) => {
      const bytes = cells.get(from * count + to);
      const where = lane.ranks + (from === to ? ", among themselves: " : " to " + other.ranks + ": ");
      return el("td", bytes ? { title: where + format.bytes(bytes), style: { background: "color-mix(in srgb, " + colour + " " + Math.round(100 * shade(bytes)) + "%, transparent)" } } : { "aria-label": "none" },
        bytes && !short ? el("span", { style: { padding: "0 5px", color: shade(bytes) > 0.6 ? style("--card") : style("--ink") } }, format.bytes(bytes)) : null);
    })));
  const table = el("table", { class: count > 32 ? "heat dense" : "heat", id: "matrix" }, el("caption", { class: "visually-hidden" }, "Bytes between groups of ranks"),
    el("thead", {}, el("tr", {}, el("th", {}, "from \\ to"), view.spans.lanes.map((lane, i) => el("th", { scope: "col", title: lane.name }, short ? (i % 5 ? "" : String(i)) : lane.ranks)))),
    el("tbody", {}, body));
  return el("div", {}, el("h3", {}, "Between groups of ranks"), el("p", { class: "dim" },
    "On the diagonal: among the ranks of a group. " + (short ? "Numbers count the groups in the order of the timeline; the pointer shows who they are. " : "") + "Darker is more, on a logarithmic scale."), el("div", { class: "scroll" }, table));
}

function networkSection(answer) {
  const network = answer.network;
  if (!network) return null;
  const links = (network.links || []).slice(0, 20), step = answer.step_time_s;
  const strip = (values) => el("div", { style: { display: "flex", height: "16px", minWidth: "160px" }, role: "img", "aria-label": values.map((u) => Math.round(100 * u)).join(" ") + " percent" },
    values.map((u) => el("i", { style: { flex: "1", background: "color-mix(in srgb, " + style("--c-pp") + " " + Math.round(100 * Math.min(1, u)) + "%, " + style("--soft") + ")" } })));
  const rows = links.map((link) => [link.name + (link.alike > 1 ? " (" + link.alike + " alike)" : ""), strip(link.utilisation), format.bytes(link.moved_bytes),
    format.percent(link.busy_s / step), format.seconds(link.delay_s)]);
  return section("links", "Shared links", "Links on which transfers slowed each other down: use over the step, from empty to full.",
    rows.length ? el("div", { class: "scroll" }, table([["link"], ["use over the step"], ["moved", 1], ["busy", 1], ["delay", 1]], rows, "Links")) : el("p", {}, "No transfer slowed another one down."));
}

function costSection(answer) {
  if (!answer.cost) return null;
  const cost = answer.cost, parts = Object.entries(cost.breakdown_usd), scale = cost.run_usd ? cost.run_usd / cost.step_usd : 1;
  const what = cost.run_usd ? "the run" : "a step", rows = parts.map(([key, usd]) => [title(key), format.usd(usd), cost.run_usd ? format.usd(usd * scale) : "", format.percent(usd / cost.step_usd)]);
  rows.push([el("b", {}, "all"), format.usd(cost.step_usd), cost.run_usd ? format.usd(cost.run_usd) : "", format.percent(1)]);
  return section("cost", "Cost", format.usd(cost.billion_tokens_usd) + " per billion tokens." + (cost.run_usd ? " Failures and checkpoints are not in it." : ""),
    figure("cost", "Cost of " + what + " by part", 34 * parts.length + 56, bars(parts.map(([key]) => title(key)), parts.map(([, usd]) => usd * scale), parts.map(() => style("--c-weight")), format.usd)),
    table([["part"], ["a step", 1], [cost.run_usd ? "the run" : "", 1], ["share", 1]], rows, "Cost by part"),
    cost.sources && cost.sources.length ? el("p", { class: "dim" }, "Prices: " + cost.sources.join("; ")) : null);
}

function rooflineSection(view) {
  const roof = view && view.roofline;
  const kernels = roof ? roof.kernels.filter((k) => k.flops > 0 && k.bytes > 0 && k.s > 0) : [];
  if (!kernels.length || !(roof.peak_flops > 0)) return null;
  const phases = [...new Set(kernels.map((k) => k.phase))], colours = { forward: "--c-forward", "input gradient": "--c-backward", "weight gradient": "--c-weight" };
  const most = Math.max(...roof.kernels.map((k) => k.s * k.times)), ridge = roof.peak_flops / roof.memory_bytes_per_s;
  const intensities = kernels.map((k) => k.flops / k.bytes), low = Math.min(...intensities, ridge) / 3, high = Math.max(...intensities, ridge) * 3;
  const datasets = phases.map((phase) => ({
    label: phase, backgroundColor: style(colours[phase] || "--c-other") + "b0", borderColor: style(colours[phase] || "--c-other"),
    data: kernels.filter((k) => k.phase === phase).map((k) => ({ x: k.flops / k.bytes, y: k.flops / k.s, r: 4 + 14 * Math.sqrt(k.s * k.times / most), kernel: k })),
  }));
  datasets.push({ label: "roof of the data sheet", type: "line", data: [[low, low * roof.memory_bytes_per_s], [ridge, roof.peak_flops], [high, roof.peak_flops]].map(([x, y]) => ({ x, y })),
    borderColor: style("--bad"), borderWidth: 1.5, pointRadius: 0, fill: false });
  const total = roof.kernels.reduce((sum, k) => sum + k.s * k.times, 0);
  const rows = roof.kernels.map((k) => [k.name, k.of, k.phase, format.rate(k.flops) + "FLOP", format.bytes(k.bytes), format.seconds(k.s),
    k.flops > 0 ? format.percent(k.flops / k.s / roof.peak_flops) : "", format.percent(k.bytes / k.s / roof.memory_bytes_per_s), format.percent(k.s * k.times / total)]);
  return section("roofline", "Kernels against the roof", "Each bubble is a kernel that multiplies matrices, for one microbatch on one device (" + roof.device + ", " + roof.precision + "); its area is its share of the computing time over all layers.",
    figure("roofline", "Roofline of " + kernels.length + " kernels", 340, {
      type: "bubble", data: { datasets },
      options: {
        scales: {
          x: axis("operations per byte moved", (v) => /^1e|^[15]0*$/.test(String(v)) ? format.count(v) : "", { type: "logarithmic", min: low, max: high }),
          y: axis("", (v) => /^[125]/.test(v.toExponential()) ? format.rate(v) + "FLOP/s" : "", { type: "logarithmic" }),
        },
        plugins: { tooltip: { callbacks: { label: ({ raw }) => raw.kernel ? raw.kernel.name + " (" + raw.kernel.of + "): " + format.rate(raw.y) + "FLOP/s, " +
          format.percent(raw.y / roof.peak_flops) + " of the peak, " + format.seconds(raw.kernel.s) : "roof: " + format.rate(raw.y) + "FLOP/s" } } },
      },
    }, [["kernel"], ["of"], ["pass"], ["operations", 1], ["bytes", 1], ["time", 1], ["of peak rate", 1], ["of memory rate", 1], ["of computing", 1]], rows));
}

function notesSection(answer) {
  const { assumptions, warnings } = answer;
  if (!assumptions.length && !warnings.length) return null;
  return section("assumptions", "Warnings and assumptions", null,
    warnings.length ? el("div", { class: answer.memory.fits ? "callout" : "callout bad" }, el("b", {}, "Warnings"), el("ul", { class: "notes" }, warnings.map((text) => el("li", {}, text)))) : null,
    assumptions.length ? [el("h3", {}, "Assumptions"), el("ul", { class: "notes" }, assumptions.map((text) => el("li", {}, text)))] : null);
}

function layoutText(answer) {
  const p = answer.scenario.parallel;
  return ["tp", "pp", "cp", "dp", "ep"].filter((key) => p[key] > 1).map((key) => key + " " + p[key]).concat(p.zero ? ["zero " + p.zero] : []).join(", ") || "one device";
}
function originFacts(answer) {
  const s = answer.scenario;
  return [["scenario", s.file], ["scenario hash", s.hash], ["Paceline", answer.version], ["profile", s.profiles.join(" + ") || "none"], ["stack", s.stack || "none"],
    ["engine", answer.engine + (answer.fidelity ? ", " + answer.fidelity : "")], ["seed", answer.seed === null || answer.seed === undefined ? "none: nothing is random" : String(answer.seed)]];
}
function scenarioFacts(answer) {
  const s = answer.scenario, batch = s.batch;
  return [["model", [s.model, s.parameters ? format.count(s.parameters) + " parameters" : ""].filter(Boolean).join(", ")], ["machine", s.machine + ", " + s.devices + " devices"],
    ["layout", layoutText(answer)], ["schedule", s.schedule.name + (s.schedule.chunks > 1 ? ", " + s.schedule.chunks + " chunks" : "")],
    ["batch", batch.global + " sequences of " + batch.sequence + " tokens, microbatches of " + batch.micro],
    ["numerics", s.precision + ", attention " + s.attention + ", recompute " + s.recompute + ", " + s.optimizer]];
}
function reproduceSection(answer, text) {
  return section("reproduce", "Reproduce", "The same command gives the same numbers.", command(text || answer.command), facts(originFacts(answer)));
}

function navigation(sections) {
  return el("nav", { "aria-label": "sections" }, sections.filter(Boolean).map((one) => el("a", { href: "#" + one.id }, one.querySelector("h2").textContent)));
}
function page(head, sections, foot) {
  return [head, navigation(sections), ...sections.filter(Boolean), el("footer", {}, foot || "Made by Paceline " + report.version + ". A prediction, with the band and the assumptions it states.")];
}

function renderRun() {
  const { answer, view } = report.runs[0], s = answer.scenario;
  const head = el("header", {}, el("p", { class: "eyebrow" }, "Predicted training step"), el("h1", {}, s.name),
    el("p", { class: "dim" }, [s.model && s.model + " (" + format.count(s.parameters) + " parameters)", s.machine, layoutText(answer), s.schedule.name].filter(Boolean).join(" \u00b7 ")),
    el("p", { class: "lead" }, sentence(answer)), tiles(answer));
  return page(head, [timeSection(answer), view ? timelineSection([[s.name, view]], "Timeline of the step") : null, memorySection(answer, view), powerSection(answer, view),
    trafficSection(answer, view), networkSection(answer), costSection(answer), rooflineSection(view), notesSection(answer),
    section("scenario", "What was asked", null, facts(scenarioFacts(answer))), reproduceSection(answer)]);
}
