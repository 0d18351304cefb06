// Draws the curves of the chosen member over time or the stride, those of the reference and measured ones dashed, and the phase portrait.
"use strict";

/** Histories by name ("time", too), as columns that are interrupted where one of them jumps. */
function splitAtJumps(film, names) {
  const { sample, before, after } = film.jumps, columns = names.map(name => [...(name === "time" ? film.time : film.histories[name]).data]);
  for (let k = sample.data.length - 1; k >= 0; k--) {
    const side = found => names.map(name => found[name].data[k]), [from, to] = [side(before), side(after)];
    if (from.some((v, c) => v !== to[c])) columns.forEach((column, c) => column.splice(sample.data[k], 0, from[c], null, to[c]));
  }
  return columns;
}

/** The lines of a choice: name, times and values. */
function series(film, choice) {
  if (choice.startsWith("#")) return Object.entries(film.curves[+choice.slice(1)]?.values ?? {}).map(([name, { time, values }]) => [name, [...time.data], [...values.data]]);
  return [choice, scan.references[choice]].filter(n => n in film.histories).map(n => [inWords(n), ...splitAtJumps(film, ["time", n])]);
}

/** The names of the measured lines of a choice. */
const measuredIn = (film, choice) => choice.startsWith("#") ? film.curves[+choice.slice(1)]?.measured ?? [] : choice in scan.references ? [inWords(scan.references[choice])] : [];

const overStride = film => Boolean(film.stride) && $("across").value === "stride";
const strideOf = (film, t) => Math.floor(t / film.stride + 1e-6);
const percent = (film, t) => 100 * Math.max(0, t / film.stride - strideOf(film, t));

/** A line over per cent of the stride, interrupted where the next stride begins. */
function perStride(film, x, y) {
  const xs = [], ys = [], put = (a, b) => { xs.push(a); ys.push(b); };
  let before = null;
  x.forEach((t, i) => {
    if (t === null) return put(null, null);
    if (before !== null && strideOf(film, t) > before) { if (percent(film, t) < 1e-4) put(100, y[i]); put(null, null); }
    before = strideOf(film, t);
    put(percent(film, t), y[i]);
  });
  return [xs, ys];
}

/** Colours of lines by name: those of the scene, otherwise ones that nothing else in the picture has, then those used elsewhere, then other names'. */
function lineColours(film, names, legend) {
  const named = names.map(name => legend[name]), bodies = Object.values(legend), elsewhere = [...film.forces, ...film.trails].map(d => d.colour);
  const used = c => 2 * bodies.includes(c) + elsewhere.includes(c), left = SERIES.filter(c => !named.includes(c)).sort((a, b) => used(a) - used(b));
  const others = left.length ? left : SERIES;
  let next = 0;
  return named.map(colour => colour ?? others[next++ % others.length]);
}

/** The title below a chart, and that beside it, in lines that fit there. */
const below = text => ({ text: escaped(text), font: { size: 12 }, standoff: 6 });
const beside = text => ({ ...below(text), text: text.replace(/(.{1,27})(?:\s+|$)/g, "$1\n").trim().split("\n").map(escaped).join("<br>") });

/** Ticks at whole numbers only, for lines that have no others and no unit, such as the phases of a motion. */
function wholeTicks(lines, unit) {
  const known = lines.flatMap(([, , y]) => y).filter(Number.isFinite);
  return known.length && (!unit || unit === "1") && known.every(Number.isInteger) && Math.max(...known) - Math.min(...known) < 8 ? { tick0: 0, dtick: 1 } : {};
}

function drawCharts() {
  const film = chosenFilm(), other = referenceFilm(), { axis, layout } = look(), choice = $("curve").value;
  const quick = { ...config("curve"), displayModeBar: false };
  const first = choice.startsWith("#") ? film.curves[+choice.slice(1)] : null;
  const title = first ? withUnit(first.name, first.unit) : labelOf(choice), unit = first ? first.unit : scan.labels[choice]?.[1];
  const measured = measuredIn(film, choice), own = series(film, choice), several = own.length - measured.length > 1;
  const colours = lineColours(film, own.map(([name]) => name), first ? film.legend : {});
  const line = (x, y, name, more) => ({ type: "scatter", mode: "lines", x, y, name: escaped(name), ...more });
  const across = (one, x, y, shift = 0) => overStride(film) && one.stride ? perStride(one, x, y) : [x.map(t => t === null ? null : t + shift), y];
  const drawn = (name, color) => measured.includes(name) ? { width: 1.3, color: first ? color : css("--ink"), dash: "4px,3px" } : { width: 1.8, color };
  const traces = own.map(([name, x, y], i) => line(...across(film, x, y), name, { line: drawn(name, colours[i]) }));
  if (other) {
    const dashed = color => ({ line: { width: 1.3, color, dash: "dash" } }), shift = film.time.data[0] - other.time.data[0];  // both begin together
    const theirs = series(other, choice).filter(([name]) => !measured.includes(name) && own.some(([mine]) => mine === name));
    traces.unshift(...theirs.map(([name, x, y]) => line(...across(other, x, y, shift), several ? `${name}, ${referenceName()}` : referenceName(), { showlegend: !several, ...dashed(several ? colours[own.findIndex(([mine]) => mine === name)] : REFERENCE) })));
    if (several && theirs.length) traces.push(line([null], [null], referenceName(), dashed(css("--ink"))));  // one entry of the legend for all
  }
  const margin = { l: 52, r: 8, b: 36, t: traces.length > 1 ? 24 : 6 };  // room for the legend; both charts begin at one height
  Plotly.react("history", traces, { ...layout, showlegend: traces.length > 1, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 11 } }, margin, xaxis: { ...axis, title: below(overStride(film) ? "stride (%)" : "time (s)") }, yaxis: { ...axis, ...wholeTicks(own, unit), title: beside(title) } }, quick);
  const [px, py] = [$("px").value, $("py").value];
  const loop = (f, name, color, width, dash) => { const [x, y] = splitAtJumps(f, [px, py]); return { ...line(x, y, name, { line: { color, width, dash } }), mode: "lines+markers", marker: { opacity: 0 } }; };
  const has = f => f && f.histories[px] && f.histories[py];
  const loops = [has(other) && loop(other, referenceName(), REFERENCE, 1.3, "dash"), has(film) && loop(film, `member ${state.member}`, SERIES[0], 1.6, "solid")].filter(Boolean);
  Plotly.react("phase", loops, { ...layout, margin, xaxis: { ...axis, title: below(labelOf(px)) }, yaxis: { ...axis, title: beside(labelOf(py)) } }, quick);
}

/** Puts a marker on a chart: at x, over the whole height if y is null. */
function pin(chart, kind, x, y) {
  const full = $(chart)._fullLayout;
  let marker = $(chart).querySelector("." + kind);
  if (!marker) { marker = element("div", "", { className: kind }); $(chart).append(marker); }
  marker.hidden = !full || !full.xaxis || !Number.isFinite(x) || (y !== null && !Number.isFinite(y));
  if (marker.hidden) return;
  marker.style.left = `${full.xaxis._offset + full.xaxis.l2p(x)}px`;
  marker.style.top = `${y === null ? full.yaxis._offset : full.yaxis._offset + full.yaxis.l2p(y)}px`;
  if (y === null) marker.style.height = `${full.yaxis._length}px`;
}
