// The page: selection (`state`), data (`scan`), and drawing; maps are drawn by map.js, curves by charts.js, films by film.js.
"use strict";

const $ = id => document.getElementById(id);
const state = { member: null, reference: null, view: "map", selected: new Set(), hidden: new Set(), slices: {}, ranges: {}, drawing: 0, playing: false, elapsed: 0, speed: 1 };
const films = new Map(), refused = new Map();
const SPEEDS = [4, 2, 1, 1 / 2, 1 / 4, 1 / 8, 1 / 16], MULTIPLES = 12;
const SERIES = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#B0703C"];  // the reference has its own, film.js
let scan;

// ---------- text and numbers ----------

const column = name => scan.columns.find(c => c.name === name);
const short = x => Number.isFinite(x) ? String(+x.toPrecision(5)) : "–";
const statusOf = row => scan.statuses[scan.status.data[row]];
const rowOf = member => scan.thinned ? scan.rows.get(member) : member;
const idOf = row => scan.thinned ? scan.ids.data[row] : row;
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const axes = () => scan.columns.filter(c => c.role === "axis");
const amount = (x, unit) => short(x) + (Number.isFinite(x) && unit && unit !== "1" ? ` ${unit}` : "");
const valueText = (k, row, unit = k.unit) => k.names[k.values.data[row]] ?? amount(k.values.data[row], unit);
const inWords = n => scan.labels[n]?.[0] || n, labelOf = n => withUnit(inWords(n), scan.labels[n]?.[1]);  // of a history
const withUnit = (name, unit) => unit && unit !== "1" ? `${name} (${unit})` : name;

function element(tag, text = "", attributes = {}) {
  const made = Object.assign(document.createElement(tag), attributes);
  made.textContent = text;
  return made;
}

function fill(select, groups, chosen) {
  select.replaceChildren();
  for (const [title, options] of groups) {
    if (!options.length) continue;
    const parent = title ? select.appendChild(Object.assign(document.createElement("optgroup"), { label: title })) : select;
    for (const [value, text, title = text] of options) parent.appendChild(element("option", text, { value, title }));
  }
  select.value = chosen;
}

function columnGroups(extra = []) {
  const of = role => scan.columns.filter(c => c.role === role).map(c => [c.name, withUnit(c.name, c.unit), c.title]);
  return [["", extra], ["varied", of("axis")], ["measures", of("measure")], ["final state", of("end")], ["run statistics", of("outcome")]];
}

/** The lines that reproduce a member, with its own values in full precision. */
function lines(row) {
  if (!scan.lines) return null;
  const member = idOf(row), kinds = scan.lines[scan.retried ? scan.retried.data[row] : 0];
  const index = {};
  let rest = member;
  for (let d = scan.dims.length - 1; d >= 0; d--) { index["#" + scan.dims[d]] = rest % scan.shape[d]; rest = Math.floor(rest / scan.shape[d]); }
  const own = name => name === "member" ? member : name in index ? index[name] : python(scan.own[name].data[row]);
  const put = text => text.replace(/\{\{([^{}]+)\}\}/g, (_, name) => own(name));
  return { python: put(kinds.python), shell: put(kinds.shell) };
}

const python = x => Number.isInteger(x) && Math.abs(x) < 1e16 ? x.toFixed(1) : String(x);

// ---------- selection ----------

function select(rows) {
  state.selected = new Set(rows);
  $("forget").hidden = !rows.length;
  drawMultiples();
}

function drawStatuses() {
  $("statuses").replaceChildren(...scan.statuses.map(([sentence, colour, count], i) => {
    const chip = element("button", `${sentence}: ${count}`, { className: "chip" + (state.hidden.has(i) ? " off" : "") });
    chip.prepend(Object.assign(document.createElement("span"), { className: "swatch", style: `background:${colour}` }));
    chip.setAttribute("aria-pressed", !state.hidden.has(i));
    chip.onclick = () => { state.hidden.has(i) ? state.hidden.delete(i) : state.hidden.add(i); drawStatuses(); drawMap(); drawMultiples(); $("statuses").children[i].focus(); };
    return chip;
  }), ...undefinedKey(), element("span", scan.sampled && `Listed: ${scan.sampled}`, { className: "faint" }));
}

/** The key of completed members for which the measure of the map is not defined, if there are any. */
function undefinedKey() {
  const c = column($("colour").value), lacks = row => !Number.isFinite(c.values.data[row]);
  return !c ? [] : [...scan.completed].flatMap(i => {
    const count = scan.status.data.subarray(0, scan.whole).reduce((sum, status, row) => sum + (status === i && lacks(row)), 0);
    const key = element("span", `${c.name} not defined in a completed run: ${count}`);
    key.prepend(Object.assign(document.createElement("span"), { className: "swatch hatched", style: `background-color:${scan.statuses[i][1]}` }));
    return count ? [key] : [];
  });
}

/** Names of the dimensions for which the map shows another slice than that of a member. */
const offSlice = row => Object.keys(state.slices).filter(name => column(name).values.data[row] !== +state.slices[name]);

function toSlice(row) {
  const off = offSlice(row);
  for (const name of off) state.slices[name] = String(column(name).values.data[row]);
  if (off.length) drawSlices();
}

/** Where the reference is, if the map does not show it. */
function drawStar() {
  const row = state.reference === null ? null : rowOf(state.reference), off = row === null ? [] : offSlice(row);
  $("star").hidden = !off.length;
  $("star").textContent = `★ at ${off.map(name => `${name} ${valueText(column(name), row, "")}`).join(", ")}`;
}

/** Selects for the dimensions that are not on the map: first the slice of the chosen member. */
function drawSlices() {
  const free = state.view === "map" ? axes().filter(k => k.dim !== null && ![column($("x").value).dim, column($("y").value).dim].includes(k.dim)) : [];
  if (column($("x").value).dim === null || column($("y").value).dim === null) free.length = 0;
  const before = state.slices, member = rowOf(state.member ?? scan.first);
  state.slices = {};
  $("slices").replaceChildren(...free.map(k => {
    const chosen = before[k.name] ?? String(k.values.data[member]), values = [...new Set([...levels(k), +chosen])].sort((a, b) => a - b);
    const label = element("label", k.name + " "), choice = label.appendChild(document.createElement("select"));
    fill(choice, [["", values.map(v => [String(v), k.names[v] ?? short(v)])]], chosen);
    state.slices[k.name] = choice.value;
    choice.onchange = () => { state.slices[k.name] = choice.value; drawMap(); };
    return label;
  }));
}

function redraw() {
  const c = $("colour").value, g = scan.gradients[c];
  $("arrows-label").hidden = !(state.view === "map" && g && $("x").value in g && $("y").value in g);
  if ($("arrows-label").hidden) $("arrows").checked = false;
  for (const id of ["x", "y"]) $(id).parentElement.hidden = state.view === "lines";
  drawStatuses();
  drawSlices();
  drawMap();
}

// ---------- the member ----------

async function show(member) {
  state.member = member;
  for (const span of document.querySelectorAll(".number")) span.textContent = member;
  if (!films.has(member) && scan.serve) await demand(member);
  if (state.member !== member) return;
  const row = rowOf(member), film = films.get(member);
  $("status").textContent = statusOf(row)[0];
  $("status").style.borderBottom = `3px solid ${statusOf(row)[1]}`;
  $("absent").hidden = !!film;
  $("transport").hidden = $("charts").hidden = !film;
  offerReference();
  if (scan.columns.length) toSlice(row);
  $("facts").hidden = !scan.columns.length;
  drawValues(row);
  drawCommands(row);
  $("film-png").disabled = !film;
  if (film) startFilm(film); else drawAbsent(row);
  drawMap.timer = drawMap.timer || setTimeout(() => { drawMap.timer = 0; if (scan.columns.length) state.view === "map" ? drawMap() : markLine(); }, 30);
  drawMultiples();
}

function offerReference() {
  $("reference").disabled = !chosenFilm() || state.member === state.reference;
  $("ghost").disabled = !chosenFilm() || !referenceFilm();
  $("ghost").parentElement.title = state.member === state.reference ? "this member is the reference" : "";
}

async function demand(member) {
  $("status").textContent = `simulating member ${member} …`;
  try {
    const answer = await fetch(`member/${member}`);
    if (answer.ok) films.set(member, unpack(await gunzip(await answer.arrayBuffer())).film);
    else refused.set(member, await answer.text());
  } catch {
    refused.set(member, "The server of this page no longer answers.");
  }
}

function drawAbsent(row) {
  const near = nearest(row), box = $("absent");
  const why = refused.get(idOf(row)) || scan.why || `This page contains the motions of ${films.size} of ${scan.size} members (ringed on the map), but not that of member ${idOf(row)}: the commands below simulate it.`;
  box.replaceChildren(element("p", why));
  $("legend").replaceChildren();
  if (near === null) return;
  const button = element("button", `Show the nearest animated member (${near})`);
  button.onclick = () => show(near);
  box.append(button);
}

function nearest(row) {
  const spans = axes().map(k => { let low = Infinity, high = -Infinity; for (const v of k.values.data) { low = Math.min(low, v); high = Math.max(high, v); } return high - low || 1; });
  const away = other => axes().reduce((sum, k, i) => sum + ((k.values.data[row] - k.values.data[other]) / spans[i]) ** 2, 0);
  return [...films.keys()].reduce((best, m) => best === null || away(rowOf(m)) < away(rowOf(best)) ? m : best, null);
}

function drawValues(row) {
  const box = $("values");
  box.replaceChildren();
  for (const [title, options] of columnGroups().slice(1)) {
    if (!options.length) continue;
    box.append(element("h3", title));
    for (const [name] of options) {
      const k = column(name), line = element("p");
      line.append(element("span", k.label, { title: k.label }), element("b", valueText(k, row)));
      box.append(line);
    }
  }
  for (const v of scan.vectors) {
    const entries = [...at(v.values, row)], partner = scan.vectors.find(w => w.name === v.name.replace("_real", "_imag"));
    if (v.name.endsWith("_imag") && scan.vectors.some(w => w.name === v.name.replace("_imag", "_real"))) continue;
    box.append(element("h3", v.name.endsWith("_real") && partner ? `${v.name.replace("_real", "")} in the unit circle` : v.title));
    if (v.name.endsWith("_real") && partner) box.append(unitCircle(entries, [...at(partner.values, row)]));
    else box.append(element("p", entries.map(short).join(", ")));
  }
}

/** Multipliers in the unit circle: those outside grow. */
function unitCircle(real, imag) {
  const reach = 1.15 * Math.max(1, ...real.map((x, i) => Math.hypot(x, imag[i])).filter(Number.isFinite));
  const dots = real.map((x, i) => Number.isFinite(x + imag[i]) ? `<circle cx="${x}" cy="${-imag[i]}" r="${0.045 * reach}" fill="${Math.hypot(x, imag[i]) > 1 ? "#D55E00" : "#0072B2"}"><title>${short(x)} ${imag[i] < 0 ? "−" : "+"} ${short(Math.abs(imag[i]))} i</title></circle>` : "").join("");
  const holder = document.createElement("div");
  holder.innerHTML = `<svg viewBox="${-reach} ${-reach} ${2 * reach} ${2 * reach}" role="img" aria-label="multipliers in the unit circle"><g fill="none" stroke="currentColor" stroke-width="${0.012 * reach}"><circle r="1"/><path d="M${-reach} 0H${reach}M0 ${-reach}V${reach}" opacity="0.4"/></g>${dots}</svg>`;
  return holder;
}

function drawCommands(row) {
  const box = $("lines"), found = lines(row);
  box.replaceChildren();
  if (!found) return;
  for (const text of [found.python, found.shell].filter(Boolean)) {
    const pre = element("pre", text), button = element("button", "copy");
    button.onclick = () => navigator.clipboard.writeText(text).then(() => { button.textContent = "copied"; setTimeout(() => button.textContent = "copy", 900); });
    pre.append(button);
    box.append(pre);
  }
}

// ---------- playing ----------

const span = film => film.time.data[film.time.data.length - 1] - film.time.data[0];
const chosenFilm = () => films.get(state.member);
const referenceFilm = () => state.member === state.reference ? null : films.get(state.reference) || null;
const ghostFilm = () => $("ghost").checked ? referenceFilm() : null;

/** The reference by name: both films begin together, even if one is of later strides. */
function referenceName() {
  const [own, from] = [chosenFilm(), referenceFilm()].map(film => film.time.data[0]);
  return Math.abs(own - from) < 0.005 ? "reference" : `reference (from ${from.toFixed(2)} s, shifted)`;
}

const legendNow = () => legendOf(chosenFilm(), ghostFilm() && referenceName());

function drawLegend() {
  $("legend").replaceChildren(...legendNow().map(([name, colour, dashed]) => {
    const key = element("span", name);
    key.prepend(Object.assign(document.createElement("span"), { className: "line", style: `border-top: ${dashed ? "2px dashed" : "5px solid"} ${colour}` }));
    return key;
  }));
}

function startFilm(film) {
  const slider = $("slider");
  slider.max = film.time.data.length - 1;
  const wanted = { curve: $("curve").value, px: $("px").value, py: $("py").value };
  const names = Object.keys(film.histories);
  $("charts").classList.toggle("single", names.length < 2);
  const listed = names.map(n => [n, labelOf(n)]), [px, py] = scan.phase;
  const curves = film.curves.map((c, i) => [`#${i}`, withUnit(c.name, c.unit)]);
  fill($("curve"), [["", curves], ["histories", listed]], curves.length ? "#0" : names[0]);
  for (const [id, name] of [["px", px], ["py", py]]) fill($(id), [["", names.map(n => [n, n, labelOf(n)])]], name);
  $("per-stride").hidden = !film.stride;
  for (const [id, value] of Object.entries(wanted)) if ([...$(id).options].some(o => o.value === value)) $(id).value = value;
  drawLegend();
  drawCharts();
  drawFrame();
}

function drawFrame() {
  const film = chosenFilm();
  if (film) {
    const i = sampleAt(film.time.data, state.elapsed);
    drawFilm($("film"), film, state.elapsed, { ghost: ghostFilm() });
    $("slider").value = i;
    const over = i === film.time.data.length - 1 && film.ended !== "completed" ? ` (${film.ended})` : "";
    $("clock").textContent = `t = ${film.time.data[i].toFixed(2)} s${over}`;
    pin("history", "cursor", overStride(film) ? percent(film, film.time.data[i]) : film.time.data[i], null);
    pin("phase", "dot", film.histories[$("px").value]?.data[i], film.histories[$("py").value]?.data[i] ?? NaN);
  }
  for (const canvas of $("multiples").querySelectorAll("canvas")) drawFilm(canvas, films.get(+canvas.dataset.member), state.elapsed, { small: state.common });
}

function tick(now) {
  if (!state.playing) return;
  const small = [...$("multiples").querySelectorAll("canvas")].map(c => films.get(+c.dataset.member));
  const longest = Math.max(0, ...[chosenFilm(), ghostFilm(), ...small].filter(Boolean).map(span));  // the others wait at their ends
  state.elapsed += Math.min(0.1, (now - tick.last) / 1000) * state.speed;
  if (state.elapsed > longest) state.elapsed = 0;
  tick.last = now;
  drawFrame();
  requestAnimationFrame(tick);
}

function play(on) {
  state.playing = on;
  $("play").textContent = on ? "❚❚" : "▶";
  if (on) { tick.last = performance.now(); requestAnimationFrame(tick); }
}

function step(count) {
  const film = chosenFilm();
  if (!film) return;
  play(false);
  const last = film.time.data.length - 1, i = sampleAt(film.time.data, state.elapsed);
  state.elapsed = film.time.data[(i + count + last + 1) % (last + 1)] - film.time.data[0];
  drawFrame();
}

function drawMultiples() {
  if (!scan.columns.length) return;
  const all = [...films.keys()].sort((a, b) => a - b), wanted = state.selected.size ? all.filter(m => state.selected.has(rowOf(m))) : all;
  const able = wanted.filter(m => !state.hidden.has(scan.status.data[rowOf(m)])), hidden = wanted.length - able.length;
  const every = Math.max(1, able.length / MULTIPLES), shown = able.filter((_, i) => Math.floor(i / every) !== Math.floor((i - 1) / every)).slice(0, MULTIPLES);
  $("several").hidden = !all.length;
  if (shown.length) state.common = commonView(shown.map(m => films.get(m)));
  $("several-note").textContent = state.selected.size ? `${state.selected.size} members selected; ${able.length} of them are animated, ${shown.length} are shown.` : `${shown.length < able.length ? `${shown.length} of the ${able.length}` : "All"} animated members. Drag on the map, or along an axis of the parallel coordinates, to select.`;
  if (hidden) $("several-note").textContent += ` ${hidden} ${hidden > 1 ? "are hidden with their statuses" : "is hidden with its status"}.`;
  const own = shown.filter(m => !state.common.fits.has(films.get(m)));
  if (shown.length) $("several-note").textContent += ` ${own.length ? `All but ${own.length}, which would not fit,` : "All"} are drawn at one scale${state.common.scale ? ` (force arrows: ${forceKey(state.common.span[1], state.common.scale)})` : ""}.`;
  const starts = shown.map(m => films.get(m).time.data[0]), apart = Math.max(...starts) - Math.min(...starts) > 0.005;
  const c = column($("colour").value) || scan.columns.find(k => k.role === "measure"), varied = axes().filter(k => k.dim !== null);
  const named = [...(varied.length ? varied : axes().slice(0, 3)), ...(c && c.role !== "axis" ? [c] : [])];
  const focused = document.activeElement.closest("figure")?.firstChild.dataset.member;
  $("multiples").replaceChildren(...shown.map((member, i) => {
    const figure = document.createElement("figure"), row = rowOf(member), canvas = document.createElement("canvas"), chosen = member === state.member;
    canvas.dataset.member = member;
    Object.assign(figure, { className: chosen ? "on" : "", tabIndex: 0, role: "button", ariaPressed: chosen, ariaLabel: `member ${member}` });
    figure.title = named.map(k => `${k.label}: ${valueText(k, row)}`).join("\n");
    const remarks = [...(own.includes(member) ? ["own scale"] : []), ...(apart ? [`from\u00a0${starts[i].toFixed(2)}\u00a0s`] : [])];
    const caption = element("figcaption", [...named.map(k => `${k.name}\u00a0${valueText(k, row, "")}`), ...remarks].join(" · "));
    caption.prepend(Object.assign(document.createElement("span"), { className: "swatch", style: `background:${statusOf(row)[1]}`, title: statusOf(row)[0] }));
    figure.append(canvas, caption);
    figure.onclick = () => show(member);
    figure.onkeydown = event => { if (event.key === "Enter" || (event.key === " " && !chosen)) { event.preventDefault(); event.stopPropagation(); show(member); } };
    return figure;
  }));
  if (focused !== undefined) $("multiples").querySelector(`canvas[data-member="${focused}"]`)?.parentElement.focus();
  drawFrame();
}

// ---------- the start ----------

/** Fits the pictures into the room that the layout leaves them; markers are placed on fitted charts. */
async function fit() {
  if (state.view === "lines") Plotly.Plots.resize($("map")).then(markLine);
  if (chosenFilm()) await Promise.all(["history", "phase"].map(id => Plotly.Plots.resize($(id))));
  drawFrame();
}

function forget() {
  state.ranges = {};
  select([]);
  drawMap();
}

function wire() {
  for (const id of ["x", "y", "colour"]) $(id).onchange = () => { redraw(); if (id === "colour") drawMultiples(); };
  $("arrows").onchange = drawMap;
  const view = name => () => { state.view = name; document.querySelector("main").classList.toggle("wide", name === "lines"); Plotly.purge($("map")); listen(); for (const [id, v] of [["as-map", "map"], ["as-lines", "lines"]]) $(id).className = v === name ? "on" : ""; redraw(); fit().then(() => chosenFilm() && drawCharts()); };  // otherwise legends stay where the old width put them
  $("as-map").onclick = view("map");
  $("as-lines").onclick = view("lines");
  $("forget").onclick = forget;
  $("map-png").onclick = () => Plotly.downloadImage(onWhite($("map")), { format: "png", scale: 2, width: state.view === "map" ? 900 : $("map").clientWidth, height: state.view === "map" ? 640 : $("map").clientHeight, filename: `${scan.model}_map` });
  $("film-png").onclick = () => { const a = document.createElement("a"); a.download = `${scan.model}_member_${state.member}.png`; a.href = withLegend($("film"), legendNow()).toDataURL(); a.click(); };
  $("reference").onclick = () => { state.reference = state.member; offerReference(); drawLegend(); drawCharts(); drawMap(); drawFrame(); };
  $("star").onclick = () => { toSlice(rowOf(state.reference)); drawMap(); };
  $("ghost").onchange = () => { drawLegend(); drawFrame(); };
  $("play").onclick = () => play(!state.playing);
  $("slider").oninput = () => { const film = chosenFilm(); play(false); state.elapsed = film.time.data[+$("slider").value] - film.time.data[0]; drawFrame(); };
  for (const id of ["curve", "across", "px", "py"]) $(id).onchange = () => { drawCharts(); drawFrame(); };
  $("speed").onchange = () => state.speed = +$("speed").value;
  $("map").onkeydown = event => {
    const way = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!way || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault(); event.stopPropagation();
    const row = event.repeat && scan.serve ? undefined : neighbour(...way);  // while the key is down, not every member on the way is simulated
    if (row !== undefined) show(idOf(row)).then(() => $("said").textContent = described(row).join(", "));
  };
  addEventListener("resize", () => requestAnimationFrame(fit));
  const repaint = async () => { await hasRoom(); if (scan.columns.length) drawMap(); if (chosenFilm()) drawCharts(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  addEventListener("theme", repaint);
  addEventListener("keydown", event => {
    if (event.target.matches("select, input:not(#slider)") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " " && event.target.closest("button, summary, a")) return;  // which the space bar presses
    const act = { ArrowRight: () => step(1), ArrowLeft: () => step(-1), " ": () => play(!state.playing) }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
}

function listen() {
  const gd = $("map");
  for (const name of ["plotly_click", "plotly_selected", "plotly_deselect", "plotly_restyle"]) gd.removeAllListeners?.(name);
  if (!gd.on) Plotly.newPlot(gd, [], {});
  gd.on("plotly_click", ({ points: hit }) => { const p = hit.find(q => q.customdata !== undefined); if (p) show(idOf(p.customdata)); });
  gd.on("plotly_selected", event => {
    if (!event || state.drawing) return;
    state.ranges = {};
    select(event.points.filter(p => p.customdata !== undefined).map(p => p.customdata));
  });
  gd.on("plotly_deselect", forget);
  gd.on("plotly_restyle", () => { if (state.view === "lines" && !state.drawing) { brushed(); markLine(); } });
}

async function start() {
  await hasRoom();
  const script = document.createElement("script");
  script.textContent = new TextDecoder().decode(await gunzip(fromBase64("library")));
  document.head.append(script);
  scan = unpack(await gunzip(fromBase64("data")));
  scan.completed = new Set(scan.completed);
  if (scan.thinned) scan.rows = new Map(Array.from(scan.ids.data, (id, row) => [id, row]));
  for (const [member, film] of scan.films) films.set(member, film);
  $("title").textContent = scan.title;
  $("about").textContent = scan.about;
  $("notes").replaceChildren(...scan.notes.map(note => element("p", note)));
  const keys = element("p");
  keys.innerHTML = "<kbd>space</kbd> plays and stops, <kbd>←</kbd> <kbd>→</kbd> step from sample to sample." + (scan.columns.length ? " On the map (<kbd>Tab</kbd>), the arrow keys choose the next member." : "");
  $("notes").append(keys);
  document.body.classList.toggle("run", !scan.columns.length);
  $("wait").remove();
  document.querySelector("main").hidden = false;
  wire();
  fill($("speed"), [["", SPEEDS.map(s => [String(s), s < 1 ? `1/${1 / s}` : `× ${s}`])]], String(scan.speed));
  state.speed = scan.speed;
  state.reference = scan.reference;
  if (scan.columns.length) {
    fill($("x"), columnGroups(), scan.x);
    fill($("y"), columnGroups(), scan.y);
    fill($("colour"), columnGroups([["status", "how it ended"]]), scan.colour);
    listen();
    redraw();
  }
  if (scan.first !== null) await show(scan.first);
  document.body.dataset.ready = "yes";
}

start().catch(error => { console.error(error); ($("wait") || document.body).textContent = `This page cannot be shown: ${error.message}`; });
