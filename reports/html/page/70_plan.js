// A search: the best layout and how sure it is, what comes next, what would change it, and what was tried.

const kObjectives = {
  time: ["Step time", "step_time_s", format.seconds], cost: ["Cost of a step", "cost_usd", format.usd], energy: ["Energy of a step", "energy_J", format.joules],
};

function sentenceCase(text) { return text.charAt(0).toUpperCase() + text.slice(1) + "."; }
/// "+1.3 %" of a value against another one.
function against(value, reference) { return (value < reference ? "" : "+") + format.percent(value / reference - 1); }

function planTiles(plan) {
  const best = plan.best[0], out = [];
  if (best) {
    const [name, key, tell] = kObjectives[plan.objective];
    out.push(tile(name, tell(best[key]), best.layout, "first"));
  }
  const state = plan.proven ? "Proven" : plan.interrupted ? "Interrupted" : "Not proven";
  out.push(tile("How sure", state, plan.proven && best ? "no layout of the space is better" : best ? "one that is left may be better by " + format.percent(plan.gap) + " at most" : plan.answer, plan.proven ? "good" : "warn"));
  const binds = plan.with_more_memory.length ? "Memory" : plan.nearest.length ? "The run's limit" : plan.interrupted ? "Not looked at" : "Not memory";
  out.push(tile("What binds", binds, plan.with_more_memory.length ? "with more of it another layout is better" : plan.nearest.length ? "no layout meets it" : plan.interrupted ? "the search was interrupted" : "more of it gives nothing better"));
  if (!best) return el("div", { class: "tiles" }, out);
  const share = best.reserved_bytes / best.capacity_bytes;
  out.push(tile("Memory", format.bytes(best.reserved_bytes), "of " + format.bytes(best.capacity_bytes) + "; " + format.bytes(plan.memory_limit_bytes) + " may be used", "", share));
  out.push(tile("Tokens per second", format.count(best.tokens_per_s), format.count(best.tokens_per_s / best.devices) + " per device, MFU " + format.percent(best.mfu)));
  if (best.run_s) out.push(tile("Whole run", format.seconds(best.run_s), (best.run_usd ? format.usd(best.run_usd) + ", " : "") + "without failures and checkpoints"));
  return el("div", { class: "tiles" }, out);
}

function layoutCell(one) { return el("div", { style: { minWidth: "15em" } }, one.layout); }

/// Columns that some layout has: [heading, numeric?, layout -> cell].
function planColumns(plan) {
  const layouts = plan.best, first = layouts[0], [, key] = kObjectives[plan.objective];
  const has = (name) => layouts.some((one) => one[name] !== undefined);
  return [["", 1, (one) => String(layouts.indexOf(one) + 1)], ["layout", 0, layoutCell], ["step", 1, (one) => format.seconds(one.step_time_s)],
    [plan.objective, 1, (one) => one === first ? "best" : against(one[key], first[key])],
    ["tokens/s", 1, (one) => format.count(one.tokens_per_s)], ["MFU", 1, (one) => format.percent(one.mfu)],
    ["memory", 1, (one) => format.bytes(one.reserved_bytes) + ", " + format.percent(one.reserved_bytes / one.capacity_bytes)],
    ["a step costs", 1, (one) => format.usd(one.cost_usd), has("cost_usd")], ["its energy", 1, (one) => format.joules(one.energy_J), has("energy_J")],
    ["the run", 1, (one) => format.seconds(one.run_s) + (one.run_usd ? ", " + format.usd(one.run_usd) : ""), has("run_s")]]
    .filter((column) => column[3] !== false);
}

function bestSection(plan) {
  if (!plan.best.length) return null;
  const columns = planColumns(plan), made = table(columns.map(([name, numeric]) => [name, numeric]), plan.best.map((one) => columns.map(([, , cell]) => cell(one))), "The best layouts");
  made.id = "layouts";
  return section("best", "The best layouts", "Of layouts that differ in recomputation, ZeRO, offloading or the optimizer's place alone the best one stands for all.",
    el("div", { class: "scroll" }, made), el("h3", {}, "Run the best"), command(plan.best[0].command),
    plan.best.length > 1 ? el("details", { class: "no-print" }, el("summary", {}, "Run the others"), plan.best.slice(1).map((one) => [el("p", { class: "dim" }, one.layout), command(one.command)]).flat()) : null);
}

function bindingSection(plan) {
  const best = plan.best[0], more = plan.with_more_memory, [name, key, tell] = kObjectives[plan.objective], timed = plan.objective === "time";
  const rows = more.concat(plan.nearest).map((one) => [layoutCell(one), format.bytes(one.reserved_bytes), format.seconds(one.step_time_s), ...(timed ? [] : [tell(one[key])]), ...(best ? [against(one.value, best.value)] : [])]);
  // What the table says of memory the first lines say in words.
  const lines = plan.binding.slice(more.length).map(sentenceCase);
  if (more.length) lines.unshift("Memory binds: at most " + format.bytes(plan.memory_limit_bytes) + " of a device may be used. With more of it these layouts would be the answer.");
  return section("binding", "What would change the answer", null, lines.map((line) => el("p", {}, line)),
    rows.length ? el("div", { class: "scroll" }, table([["layout"], ["memory", 1], ["step", 1], ...(timed ? [] : [[name.toLowerCase(), 1]]), ...(best ? [[plan.objective + " against the best", 1]] : [])], rows, "Layouts beyond the limits")) : null);
}

// Times the best step and the memory there is: what is farther out would leave no room for the rest.
const kDrawnSteps = 3, kDrawnMemory = 2.5;

function triedSection(plan, listed) {
  if (!listed.length) return null;
  const near = (row) => row.reserved_bytes <= kDrawnMemory * plan.memory_limit_bytes && row.step_time_s <= kDrawnSteps * plan.best[0].step_time_s;
  const tried = plan.best.length ? listed.filter(near) : listed;
  const answer = new Set(plan.best.map((one) => one.layout)), first = plan.best[0] && plan.best[0].layout;
  const withStatus = (status) => tried.filter((row) => row.status === status && !answer.has(row.layout));
  const groups = [["the best", tried.filter((row) => row.layout === first), style("--accent"), 8], ["in the answer", tried.filter((row) => row.layout !== first && answer.has(row.layout)), style("--accent"), 5],
    ["fits", withStatus("fits"), style("--c-backward"), 3], ["beyond the limit on the run", withStatus("beyond the run"), style("--c-weight"), 3, true],
    ["does not fit", withStatus("does not fit"), style("--bad"), 3, true],
    ["with more memory", plan.with_more_memory.filter((one) => !plan.best.length || near(one)).map((one) => ({ ...one, step_usd: one.cost_usd, step_j: one.energy_J })), style("--bad"), 5]];
  const all = groups.flatMap(([, list]) => list);
  const metrics = kMetrics.filter(([key]) => all.every((row) => row[key] !== undefined) && (key !== "devices" || new Set(all.map((row) => row.devices)).size > 1));
  const note = (listed.length < plan.counts.evaluated ? "Of " + format.count(plan.counts.evaluated) + " simulated layouts the " + listed.length + " best" : "Every simulated layout") +
    (tried.length < listed.length ? ", but for " + (listed.length - tried.length) + " that take more than " + kDrawnSteps + " times the step of the best or " + kDrawnMemory + " times the memory" : "") +
    "; what is not here was cut off by its bound" + (plan.counts.left > 0 ? " or left" : "") + ". Hover for the layout.";
  return section("tried", "What was simulated", note, cloud("tried", groups, metrics, ["reserved_bytes", "step_time_s"], (row) => row.layout, ", " + plan.best.length + " of them in the answer"));
}

function spaceSection(plan) {
  const c = plan.counts, words = [["invalid", "do not divide the devices, the model or the batch"], ["memory", "need more memory than there is, by their bound"],
    ["bound", "worse than what was found, or beyond a limit on the run, by their bound"], ["evaluated", "simulated"], ["left", plan.interrupted ? "left when the search was interrupted" : "left when the simulations were used up"]];
  const rows = words.filter(([key]) => c[key] > 0).map(([key, text]) => [format.count(c[key]), format.percent(c[key] / c.points), text]);
  rows.push([el("b", {}, format.count(c.points)), format.percent(1), el("b", {}, "layouts of the space")]);
  return section("space", "How the space was searched", null, el("div", { class: "scroll" }, table([["layouts", 1], ["share", 1], ["what became of them"]], rows, "Layouts by what became of them")));
}

function renderPlan() {
  const plan = report.plan, run = report.runs[0], best = plan.best[0], [, key, tell] = kObjectives[plan.objective];
  const lead = (best ? "Of " + format.count(plan.counts.points) + " layouts the best takes " + format.seconds(best.step_time_s) +
    (plan.objective === "time" ? "" : " and " + tell(best[key])) + " a step: " + best.layout + ". " : "") + sentenceCase(plan.answer);
  const head = el("header", {}, el("p", { class: "eyebrow" }, plan.interrupted ? "Search for a layout, unfinished" : "Search for a layout"), el("h1", {}, plan.scenario),
    el("p", { class: "dim" }, [plan.model, plan.machine, "least " + plan.objective].filter(Boolean).join(" \u00b7 ")), el("p", { class: "lead" }, lead), planTiles(plan));
  const notes = run ? notesSection(run.answer) : plan.assumptions.length ? section("assumptions", "Assumptions", null, el("ul", { class: "notes" }, plan.assumptions.map((text) => el("li", {}, text)))) : null;
  return page(head, [bestSection(plan), bindingSection(plan), triedSection(plan, report.tried),
    run ? timelineSection([[best.layout, run.view]], "Timeline of the best layout's step") : null, run ? timeSection(run.answer) : null, run ? memorySection(run.answer, run.view) : null,
    spaceSection(plan), notes, section("reproduce", "Reproduce", plan.interrupted ? "The search from its beginning; it was interrupted here." : null, command(plan.command), facts([["scenario", plan.file], ["scenario hash", plan.hash], ["Paceline", report.version]]))]);
}
