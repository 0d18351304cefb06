// Draws all members: the map and the parallel coordinates, with the data and the selection of page.js.
"use strict";

const GL_FROM = 4000, ARROWS = 160, CHOSEN = "#D55E00", PAD = 2;  // PAD: of Plotly's parallel coordinates, above and below in pixels

function visible() {
  const rows = [], extra = Object.entries(state.slices);
  for (let row = 0; row < scan.status.data.length; row++) {
    if (state.hidden.has(scan.status.data[row])) continue;
    if (extra.every(([name, value]) => column(name).values.data[row] === +value)) rows.push(row);
  }
  return rows;
}

function look() {
  const ink = css("--ink"), line = css("--line"), axis = { gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true };
  return { axis, layout: { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, size: 12, family: "system-ui, sans-serif" }, hovermode: "closest", showlegend: false, modebar: { bgcolor: "rgba(0,0,0,0)", color: css("--faint"), activecolor: ink } } };
}

/** A drawn picture in dark ink on white, for a file, whatever the theme of the page. */
function onWhite({ data, layout: drawn }) {
  const root = document.documentElement.dataset, before = root.theme;
  root.theme = "light";
  const { axis, layout } = look(), inked = name => drawn[name] ? { [name]: { ...drawn[name], ...axis } } : {};
  if (before === undefined) delete root.theme; else root.theme = before;
  return { data, layout: { ...drawn, ...layout, paper_bgcolor: "#ffffff", ...inked("xaxis"), ...inked("yaxis") } };
}

const config = name => ({ responsive: true, displaylogo: false, showSendToCloud: false, toImageButtonOptions: { filename: name, scale: 2 }, modeBarButtonsToRemove: ["autoScale2d", "toImage"] });

function drawMap() {
  const gd = $("map");
  drawStar();
  drawKey();
  if (state.view === "lines") return drawLines(gd);
  const x = column($("x").value), y = column($("y").value), c = column($("colour").value);
  const rows = visible(), { layout } = look();
  const regular = x.dim !== null && y.dim !== null && x.dim !== y.dim;
  const shaded = c ? rows.filter(row => Number.isFinite(c.values.data[row])) : [];
  const inside = new Set(shaded), plain = regular && !c, empty = regular && c ? rows.filter(row => !inside.has(row)) : [];
  const others = plain ? [] : rows.filter(row => inside.has(row) ? !scan.completed.has(scan.status.data[row]) : !regular);
  const traces = [];
  if (plain) traces.push(cells(x, y, rows, r => scan.status.data[r], { ...statusShades("z"), showscale: false }));
  else if (regular) traces.push(cells(x, y, shaded, r => tone(c, r), shades(c, "z", shaded)));
  else if (shaded.length) traces.push(points(x, y, shaded, shade(c, shaded)));
  if (empty.length) traces.push(...hatched(x, y, empty));
  if (regular && rows.length) traces.push({ ...points(x, y, rows, { color: "#ffffff", opacity: 0 }), selected: { marker: { opacity: 0.9, size: 5 } }, unselected: { marker: { opacity: 0 } } });
  if (others.length) traces.push(points(x, y, others, { color: others.map(r => statusOf(r)[1]), symbol: "square", opacity: 1, line: { color: "#ffffff", width: others.map(r => inside.has(r) ? 1 : 0) }, size: others.map(r => Math.min(inside.has(r) ? 7 : 11, size(others.length) + 1)) }));
  if (c && $("arrows").checked) traces.push(gradientArrows(x, y, c, shaded));
  const type = Math.max(others.length, regular ? 0 : shaded.length) > GL_FROM ? "scattergl" : "scatter";  // WebGL would hide others
  traces.push(...marks(x, y, rows).map(mark => ({ ...mark, type })));
  const bare = (k, at) => rows.some(r => !Number.isFinite(k.values.data[r])) ? [{ ...at, text: "no value", showarrow: false, font: { color: css("--faint") } }] : [];
  const annotations = [...bare(y, { xref: "paper", x: 1, xanchor: "right", y: y.edge, yshift: 14 }), ...bare(x, { yref: "paper", y: 1, x: x.edge, textangle: -90, yanchor: "top" })];
  if (c && constant(c, shaded)) annotations.push({ xref: "paper", yref: "paper", x: 0, y: 1, yanchor: "bottom", xanchor: "left", showarrow: false, text: escaped(`${c.name} = ${valueText(c, shaded[0])} everywhere`) });
  const within = k => regular ? { range: [edges(k)[0], edges(k).at(-1)].map(v => k.geometric ? Math.log10(v) : v) } : {};
  const whole = { ...layout, annotations, margin: { l: 60, r: 10, t: 30, b: 46 }, dragmode: matchMedia("(pointer: coarse)").matches ? false : "select", xaxis: { ...axisOf(x), ...within(x) }, yaxis: { ...axisOf(y), ...within(y) }, uirevision: x.name + y.name, selectionrevision: state.selected.size > 0 };
  react(gd, traces, whole, config("map"));
}

/** Redraws; Plotly then reports an empty selection, which is not the reader's. */
function react(gd, ...drawn) {
  state.drawing++;
  return Plotly.react(gd, ...drawn).finally(() => state.drawing--);
}

/** Text in which Plotly finds no HTML: names are of people and files. */
const escaped = text => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const ticks = k => k.names.length ? { tickvals: k.names.map((_, i) => i), ticktext: k.names.map(escaped) } : k.colours.length ? { tickvals: k.colours.map((_, i) => i) } : {};
const heading = (k, longest) => escaped(k.title.length < longest ? k.title : withUnit(k.name, k.unit));
const axisOf = k => ({ ...look().axis, ...ticks(k), ...(k.whole ? { tick0: 0, dtick: 1 } : {}), ...(k.geometric ? { type: "log" } : {}), title: { text: heading(k, 55) } });

const constant = (k, rows) => rows.length > 0 && rows.every(r => k.values.data[r] === k.values.data[rows[0]]);

/** Colours of a column, as the properties of a trace with a prefix: steps for small counts; a single value has no bar. */
function shades(k, prefix, rows) {
  const colorbar = { title: { text: heading(k, 45), side: "right" }, thickness: 13, outlinewidth: 0 };
  const showscale = !constant(k, rows), { texts, colours } = k.steps;
  if (texts.length) return { colorscale: steps(colours), [prefix + "min"]: -0.5, [prefix + "max"]: colours.length - 0.5, colorbar: { ...colorbar, title: { ...colorbar.title, text: `${heading(k, 45)}, unequal steps` }, tickvals: texts.map((_, i) => i - 0.5), ticktext: texts }, showscale };
  if (!k.colours.length) return { colorscale: "Viridis", colorbar, showscale };
  return { colorscale: steps(k.colours), [prefix + "min"]: -0.5, [prefix + "max"]: k.colours.length - 0.5, colorbar: { ...colorbar, ...ticks(k) }, showscale };
}

/** A member's number on the scale of colours: the value, or the number of its step. */
const tone = (k, r) => k.steps.texts.length ? k.steps.inner.filter(edge => k.values.data[r] >= edge).length : k.values.data[r];

const shade = (c, rows) => ({ color: rows.map(r => tone(c, r)), ...shades(c, "c", rows) });
const statusShades = prefix => ({ colorscale: steps(scan.statuses.map(s => s[1])), [prefix + "min"]: -0.5, [prefix + "max"]: scan.statuses.length - 0.5 });

/** Where members are along an axis; those without a value are before all others. */
function along(k, rows) {
  if (k.edge === undefined) {
    let low = Infinity, high = -Infinity;
    for (const v of k.values.data) if (Number.isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); }
    k.edge = low < Infinity ? low - 0.08 * (high - low || 1) : 0;
  }
  return rows.map(r => Number.isFinite(k.values.data[r]) ? k.values.data[r] : k.edge);
}

const size = count => count > 3000 ? 4 : count > 800 ? 6 : 9;

function points(x, y, rows, marker) {
  const chosen = rows.map((row, i) => state.selected.has(row) ? i : -1).filter(i => i >= 0);
  return {
    type: rows.length > GL_FROM ? "scattergl" : "scatter", mode: "markers", x: along(x, rows), y: along(y, rows),
    customdata: rows, text: rows.map(hover), hovertemplate: "%{text}<extra></extra>", marker: { size: size(rows.length), ...marker },
    selectedpoints: state.selected.size ? chosen : null,
  };
}

/** A member's names, its numbers and how it ended, in words. */
function described(row) {
  const c = column($("colour").value), shown = [...axes(), ...(c && c.role !== "axis" ? [c] : [])];
  return [`member ${idOf(row)}`, ...shown.map(k => `${k.name} = ${valueText(k, row)}`), statusOf(row)[0]];
}

function hover(row) {
  const [name, ...others] = described(row).map(escaped);
  return [`<b>${name}</b>`, ...others].join("<br>");
}

/** The row next to the chosen one on the map, to the right (1 or -1) or up; in the parallel coordinates, the next one in the table. */
function neighbour(right, up) {
  const own = rowOf(state.member), gd = $("map");
  if (state.view === "lines") { const rows = gd.data[0].customdata; return rows[rows.indexOf(own) + right - up]; }
  const [x, y] = [column($("x").value), column($("y").value)], { xaxis, yaxis } = gd._fullLayout, rows = visible();
  const away = (k, axis) => { const [from, ...to] = along(k, [own, ...rows]).map(v => axis.d2p(v)); return to.map(p => p - from); };
  const [across, down] = [away(x, xaxis), away(y, yaxis)], [ahead, aside] = right ? [across, down] : [down, across], way = right || -up;
  const listed = (right ? x : y).dim !== null;  // the nearest one of the next value; otherwise the nearest one about straight ahead
  const cost = i => way * ahead[i] > 0.5 ? (listed ? 1e4 * way * ahead[i] + Math.abs(aside[i]) : Math.hypot(ahead[i], 2 * aside[i])) : Infinity;
  const best = rows.reduce((least, _, i) => cost(i) < cost(least) ? i : least, -1);
  return rows[best];
}

/** The values of a dimension that are listed with all members of the box. */
const levels = k => [...new Set(k.values.data.subarray(0, scan.whole))].sort((a, b) => a - b);

/** Edges of cells: halfway between values, as their axis shows them. */
function edges(k) {
  const [to, from] = k.geometric ? [Math.log, Math.exp] : [v => v, v => v], at = levels(k).map(to), last = at.length - 1;
  if (!last) return [at[0] - 0.5, at[0] + 0.5];
  const middles = at.slice(1).map((v, i) => (v + at[i]) / 2);
  return [2 * at[0] - middles[0], ...middles, 2 * at[last] - middles[last - 1]].map(from);
}

/** Members on a grid as cells of a colour. */
function cells(x, y, rows, value, colours) {
  const xs = levels(x), ys = levels(y), col = new Map(xs.map((v, i) => [v, i])), line = new Map(ys.map((v, i) => [v, i]));
  const z = ys.map(() => new Array(xs.length).fill(null));
  for (const row of rows) if (row < scan.whole) z[line.get(y.values.data[row])][col.get(x.values.data[row])] = value(row);
  return { type: "heatmap", x: edges(x), y: edges(y), z, ...colours, hoverinfo: "skip", hoverongaps: false };
}

/** Cells of members without a value, hatched in the colours of their statuses as in pictures: one path for each. */
function hatched(x, y, rows) {
  const xs = edges(x), ys = edges(y), { z } = cells(x, y, rows, r => scan.status.data[r], {}), paths = new Map();
  z.forEach((line, j) => {
    for (let from = 0, to; from < line.length; from = to) {
      for (to = from + 1; to < line.length && line[to] === line[from];) to++;
      if (line[from] === null) continue;
      if (!paths.has(line[from])) paths.set(line[from], [[], []]);
      const [px, py] = paths.get(line[from]);
      px.push(xs[from], xs[to], xs[to], xs[from], xs[from], null);
      py.push(ys[j], ys[j], ys[j + 1], ys[j + 1], ys[j], null);
    }
  });
  return [...paths].map(([status, [px, py]]) => ({ type: "scatter", mode: "lines", x: px, y: py, fill: "toself", line: { width: 0 }, hoverinfo: "skip", fillcolor: scan.statuses[status][1], fillpattern: { shape: "/", fgcolor: "#ffffff", bgcolor: scan.statuses[status][1], size: 7, solidity: 0.25 } }));
}

/** Rings on members that play, a star on the reference, a large ring on the chosen one. */
function marks(x, y, rows) {
  const at = (which, marker) => ({ mode: "markers", x: along(x, which), y: along(y, which), hoverinfo: "skip", cliponaxis: false, marker, unselected: { marker: { opacity: 1 } } });
  const shown = new Set(rows);
  const play = [...films.keys()].map(rowOf).filter(r => shown.has(r));
  const one = member => member === null ? [] : [rowOf(member)].filter(r => shown.has(r));
  return [
    at(play, { symbol: "circle-open", size: 9, color: "#ffffff", line: { width: 3 } }), at(play, { symbol: "circle-open", size: 9, color: "#20252a", line: { width: 1.2 } }),
    at(one(state.reference), { symbol: "star", size: 13, color: "#ffffff", line: { width: 1.3, color: "#20252a" } }),
    at(one(state.member), { symbol: "circle-open", size: 19, color: CHOSEN, line: { width: 3.5, color: CHOSEN } }),
  ];
}

/** The meaning of the marks that are on the map. */
function drawKey() {
  const kinds = [["○ can be played", films.size], ["★ reference", state.reference !== null], ["<span>○</span> selected", state.member !== null]];
  $("marks").innerHTML = state.view === "map" ? kinds.filter(([, there]) => there).map(([text]) => `<span>${text}</span>`).join("") : "";
}

/** Directions in which a measure rises fastest, in the unit square of the picture. */
function gradientArrows(x, y, c, rows) {
  const g = scan.gradients[c.name], to = k => v => k.geometric ? Math.log(v) : v, from = k => v => v === null || !k.geometric ? v : Math.exp(v);
  const span = k => { const at = rows.map(r => to(k)(k.values.data[r])); return Math.max(...at) - Math.min(...at) || 1; };
  const per = (k, r) => g[k.name].data[r] * (k.geometric ? k.values.data[r] : 1);  // on a logarithmic axis, per relative change
  const [wide, tall] = [span(x), span(y)], every = Math.ceil(rows.length / ARROWS), xs = [], ys = [];
  for (const row of rows.filter((_, i) => i % every === 0)) {
    const gx = per(x, row) * wide, gy = per(y, row) * tall, norm = Math.hypot(gx, gy);
    if (!(norm > 0)) continue;
    const [dx, dy] = [gx / norm, gy / norm], long = 0.04, [px, py] = [x, y].map(k => to(k)(k.values.data[row]));
    const tip = [px + long * dx * wide, py + long * dy * tall], barb = s => [tip[0] + 0.014 * wide * (-dx - s * dy * 0.7), tip[1] + 0.014 * tall * (-dy + s * dx * 0.7)];
    for (const [a, b] of [[px, py], tip, barb(1), tip, barb(-1), [null, null]]) { xs.push(a); ys.push(b); }
  }
  return { type: "scatter", mode: "lines", x: xs.map(from(x)), y: ys.map(from(y)), line: { color: "#D55E00", width: 1.3 }, hoverinfo: "skip" };
}

function drawLines(gd) {
  const c = column($("colour").value), { layout } = look();
  const all = visible(), has = k => r => Number.isFinite(k.values.data[r]), coloured = c ? all.filter(has(c)) : all;
  const often = k => 2 * coloured.filter(has(k)).length > coloured.length;
  const shown = [...new Set([...axes(), ...(c ? [c] : []), ...scan.columns.filter(k => k.role === "measure" && often(k)).slice(0, 6)])];
  const rows = coloured.filter(r => shown.every(k => has(k)(r))), lost = all.length - rows.length;
  $("slices").replaceChildren(...(lost ? [element("span", `${lost} members without all of these values are left out`, { className: "faint" })] : []));
  const dimensions = shown.map(k => ({ label: escaped(withUnit(k.name, k.unit)), name: k.name, constraintrange: state.ranges[k.name], ...scaled(k, rows) }));
  for (const d of dimensions) d.range = extent(d.values);
  const line = c ? shade(c, rows) : { color: rows.map(r => scan.status.data[r]), ...statusShades("c") };
  const apart = (gd.clientWidth - 160) / Math.max(1, shown.length - 1), longest = 6.5 * Math.max(...dimensions.map(d => d.label.length));
  const tilted = longest > apart;  // otherwise the headings overprint each other
  const l = Math.max(60, 3.3 * dimensions[0].label.length, ...shown[0].names.map(name => 6 * name.length + 14));
  react(gd, [{ type: "parcoords", dimensions, line, customdata: rows, labelangle: tilted ? -30 : 0, labelfont: { size: 11 }, rangefont: { size: 9 }, unselected: { line: { color: css("--line"), opacity: 0.35 } } }], { ...layout, margin: { l, r: tilted ? 70 : 40, t: tilted ? 40 + longest / 2 : 46, b: 20 } }, config("parallel_coordinates")).then(markLine);
}

/** The line of the chosen member in front of all others, in the colour of its ring on the map: annotations, which files have, too. */
function markLine() {
  const gd = $("map");
  if (state.view !== "lines" || !gd.data?.[0]?.dimensions) return;
  const [{ dimensions, customdata }] = gd.data, i = customdata.indexOf(rowOf(state.member)), { w, h } = gd._fullLayout._size;
  const places = i < 0 ? [] : dimensions.map(({ values, range: [low, high] }, k) => [k / Math.max(1, dimensions.length - 1), (PAD + (h - 2 * PAD) * (values[i] - low) / (high - low)) / h]);
  const piece = ([x, y], [left, below]) => ({ x, y, ax: (left - x) * w, ay: (y - below) * h, xref: "paper", yref: "paper", text: "", showarrow: true, arrowside: "end+start", arrowhead: 6, startarrowhead: 6, arrowsize: 0.6, startarrowsize: 0.6, arrowwidth: 3, arrowcolor: CHOSEN });
  return Plotly.relayout(gd, { annotations: places.slice(1).map((place, k) => piece(place, places[k])) });
}

/** Values and ticks of an axis of the parallel coordinates; Plotly's are never logarithmic. */
function scaled(k, rows) {
  const values = rows.map(r => k.values.data[r]);
  if (!k.geometric) return { values, tickformat: format(values), ...ticks(k), ...(k.names.length ? { ticktext: k.names } : {}) };  // no HTML here
  const shown = levels(k).filter((_, i, all) => i % Math.ceil(all.length / 8) === 0);
  return { values: values.map(Math.log10), tickvals: shown.map(Math.log10), ticktext: shown.map(short) };
}

/** The ends of an axis of the parallel coordinates. */
function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const v of values) { low = Math.min(low, v); high = Math.max(high, v); }
  const wide = high > low ? 0 : Math.abs(low) / 10 || 1;  // room around a single value
  return low < Infinity ? [low - wide, high + wide] : [0, 1];
}

/** Three digits of the spread of values; powers of ten for very large and small ones. */
function format(values) {
  const [low, high] = extent(values), largest = Math.max(Math.abs(low), Math.abs(high));
  return largest < 1e7 && largest >= 1e-4 ? `.${Math.min(12, Math.max(0, 2 - Math.floor(Math.log10(high - low))))}~f` : ".5~g";
}

const steps = colours => colours.flatMap((colour, i) => [[i / colours.length, colour], [(i + 1) / colours.length, colour]]);

function brushed() {
  const trace = $("map").data[0];
  state.ranges = Object.fromEntries(trace.dimensions.map(d => [d.name, d.constraintrange]));
  const ranges = trace.dimensions.map(d => d.constraintrange && (Array.isArray(d.constraintrange[0]) ? d.constraintrange : [d.constraintrange]));
  if (ranges.every(r => !r)) return select([]);
  select(trace.customdata.filter((_, i) => ranges.every((r, k) => !r || r.some(([low, high]) => trace.dimensions[k].values[i] >= low && trace.dimensions[k].values[i] <= high))));
}
