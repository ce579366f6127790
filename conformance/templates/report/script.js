"use strict";
(() => {
  const page = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const targets = all("details.target");

  // Filtering the failures. The query is in the address, as #q=..., so that it can be passed on.
  const form = document.getElementById("find");
  const query = document.getElementById("query");
  const found = document.getElementById("found");
  const cases = all("details.case");
  const areMore = document.querySelector(".failures > .more") !== null;
  const wasOpen = new Map(targets.map((target) => [target, target.open]));

  const filter = (text) => {
    const wanted = text.trim().toLowerCase();
    const matches = (item) => item.dataset.id.toLowerCase().includes(wanted);
    const shown = new Set(cases.filter(matches));
    for (const item of cases) item.hidden = !shown.has(item);
    for (const target of targets) {
      const has = all("details.case", target).some((item) => shown.has(item));
      target.classList.toggle("unmatched", wanted !== "" && !has);
      target.open = wanted === "" ? wasOpen.get(target) : has;
    }
    // A query that names one case is a link to it.
    if (wanted !== "" && shown.size === 1) for (const item of shown) item.open = true;
    const failures = `${areMore ? "listed " : ""}${cases.length === 1 ? "failure" : "failures"}`;
    found.textContent = `${shown.size} of ${cases.length} ${failures}`;
    page.classList.toggle("searching", wanted !== "");
    page.dataset.shown = String(shown.size);
  };

  const followAddress = () => {
    const hash = location.hash;
    if (query && hash.startsWith("#q=")) {
      query.value = decodeURIComponent(hash.slice(3));
      filter(query.value);
      return;
    }
    const place = document.getElementById(hash.slice(1));
    const target = place?.closest("details.target");
    if (target) {
      target.open = true;
      place.scrollIntoView();
    }
  };

  if (form) {
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    query.addEventListener("input", () => {
      history.replaceState(null, "", `#q=${encodeURIComponent(query.value)}`);
      filter(query.value);
    });
    filter("");
  }

  // Only the targets that are worth a look.
  const only = document.getElementById("only-failing");
  if (only) {
    only.parentElement.hidden = false;
    only.addEventListener("change", () => {
      for (const row of all("tr[data-verdict]")) {
        row.hidden = only.checked && row.dataset.verdict === "ok";
        const link = row.querySelector("a").getAttribute("href");
        document.getElementById(link.slice(1)).hidden = row.hidden;
      }
    });
  }

  // A cell says what it means when it is pointed at, or reached with the arrow keys.
  const say = (cell) => {
    const table = cell.closest("table");
    const type = cell.parentElement.cells[0].textContent;
    const rank = table.tHead.rows[0].cells[cell.cellIndex].textContent;
    cell.closest("figure").querySelector("figcaption").textContent =
      `${type}, rank ${rank}: ${cell.title}`;
  };
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  const move = (event) => {
    const step = steps[event.key];
    const cell = event.target;
    if (!step || cell.tagName !== "TD") return;
    const rows = cell.closest("tbody").rows;
    const row = rows[cell.parentElement.sectionRowIndex + step[0]];
    const next = row?.cells[cell.cellIndex + step[1]];
    if (next?.tagName !== "TD") return;
    event.preventDefault();
    cell.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  };
  for (const grid of all("figure.grid tbody")) {
    const first = grid.querySelector("td");
    if (first) first.tabIndex = 0;
    grid.addEventListener("keydown", move);
    for (const event of ["focusin", "mouseover"]) {
      grid.addEventListener(event, ({ target }) => {
        const cell = target.closest("td");
        if (cell) say(cell);
      });
    }
  }

  addEventListener("hashchange", followAddress);
  followAddress();
  page.dataset.ready = "true";
})();
