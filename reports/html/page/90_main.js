// Puts the page together, and again when light becomes dark or the page is printed.

function render() {
  const kinds = { run: renderRun, compare: renderCompare, sweep: renderSweep, plan: renderPlan };
  const app = document.getElementById("app");
  paceline.timelines.length = 0;
  waiting.length = 0;
  styles.clear();
  chartDefaults();
  app.replaceChildren(...kinds[report.kind]());
  runLater();
  paceline.ready = true;
}

window.addEventListener("error", (event) => paceline.errors.push(String(event.message)));
render();
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render);
window.addEventListener("beforeprint", () => { document.documentElement.dataset.theme = "light"; render(); });
window.addEventListener("afterprint", () => { delete document.documentElement.dataset.theme; render(); });
