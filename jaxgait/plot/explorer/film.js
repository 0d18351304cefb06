// Draws a member on a canvas: ground, trails, limbs, bodies, forces, scale bar. Arrays come as {data, shape}.
// Its legend is beside the canvas (page.js), where it hides nothing.
"use strict";

const INK = "#20252a", EARTH = "#dedad0", RIM = "#7a766c", NEWTON = "#D55E00", REFERENCE = "#CC79A7", LARGER = 2, MARKS = 6;

/** The i-th sample of an array over samples; a single sample holds for all. */
function at(array, i) {
  const size = array.data.length / array.shape[0];
  const k = array.shape[0] > 1 ? Math.min(i, array.shape[0] - 1) : 0;
  return array.data.subarray(k * size, (k + 1) * size);
}

/** Number of the last sample that is not after a time since the first one. */
function sampleAt(time, elapsed) {
  let low = 0, high = time.length - 1;
  const wanted = time[0] + elapsed + 1e-9;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (time[middle] <= wanted) low = middle; else high = middle - 1;
  }
  return low;
}

function sized(canvas) {
  const ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
  const width = Math.round(box.width * ratio), height = Math.round(box.height * ratio);
  if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
  return { width: width / ratio, height: height / ratio, ratio };
}

/** The largest of 1, 2 and 5 times a power of ten that is not above x. */
function nice(x) {
  const power = 10 ** Math.floor(Math.log10(x) + 1e-12);
  return [5, 2, 1].find(m => m * power <= x * (1 + 1e-9)) * power;
}

/** A length with a unit that suits it. */
const metric = length => length >= 1 ? `${length} m` : length >= 0.01 ? `${+(length * 100).toPrecision(3)} cm` : `${+(length * 1000).toPrecision(3)} mm`;

/** Text with an outline, readable on any background. */
function write(g, text, x, y) {
  g.save();
  g.strokeStyle = "#fbfbf9"; g.lineWidth = 6; g.lineJoin = "round";
  g.strokeText(text, x, y);
  g.fillStyle = INK;
  g.fillText(text, x, y);
  g.restore();
}

/** The common view and scale of arrows of films side by side; those that need a much larger view are left out. */
function commonView(shown) {
  const spans = k => shown.map(f => f.views[0].span[k]).sort((a, b) => a - b), upper = sorted => sorted[Math.floor(0.75 * (sorted.length - 1))];
  const most = [0, 1].map(k => LARGER * upper(spans(k))), fits = new Set(shown.filter(f => most.every((m, k) => f.views[0].span[k] <= m)));
  const views = [...fits].map(f => f.views[0]), common = { fits, scale: Math.max(...[...fits].map(f => f.forces.length ? f.scale : 0)) };
  if (views.some(v => v.centre.shape[0] > 1)) return { ...common, span: [0, 1].map(k => Math.max(...views.map(v => v.span[k]))) };
  const edge = (pick, side) => [0, 1].map(k => pick(...views.map(v => v.centre.data[k] + side * v.span[k] / 2)));
  const low = edge(Math.min, -1), high = edge(Math.max, 1);  // of cameras that stand still: all see the same place
  return { ...common, span: [0, 1].map(k => high[k] - low[k]), centre: { data: Float64Array.of(...[0, 1].map(k => (low[k] + high[k]) / 2)), shape: [1, 2] } };
}

const forceKey = (tall, scale) => { const size = nice(tall / 6); return `${metric(size)}: ${+(size * scale).toPrecision(3)} N`; };

/** The entries of a film's legend: name, colour, whether it is dashed. */
function legendOf(film, ghost) {
  const keys = [...Object.entries(film.legend), ...film.trails.map(t => [t.name, t.colour])];
  if (film.forces.length) keys.push([`force (${forceKey(film.views[0].span[1], film.scale)})`, NEWTON]);
  if (ghost) keys.push([ghost, REFERENCE, true]);
  return keys;
}

/** Draws a member at a time since its start; another one as a dashed ghost; a small picture in the common view if it fits. */
function drawFilm(canvas, film, elapsed, { ghost = null, small = null } = {}) {
  const { width, height, ratio } = sized(canvas), g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  const i = sampleAt(film.time.data, elapsed);
  const { span, centre = film.views[0].centre } = small || {}, fits = small && small.fits.has(film);
  const views = fits ? [{ ...film.views[0], span, centre }] : small ? film.views.slice(0, 1) : film.views;
  const aspects = views.map(v => v.span[0] / v.span[1]), total = aspects.reduce((a, b) => a + b, 0);
  let left = 0;
  views.forEach((view, n) => {
    const room = width * aspects[n] / total;
    const j = ghost ? sampleAt(ghost.time.data, elapsed) : 0;
    drawView(g, film, view, i, { left, width: room, height, first: n === 0, small, scale: fits ? small.scale : film.scale, ghost, j });
    left += room;
  });
}

/** A canvas with a legend above it, for the file of a picture. */
function withLegend(canvas, keys) {
  const made = document.createElement("canvas"), g = made.getContext("2d"), ratio = window.devicePixelRatio || 1, width = canvas.width / ratio;
  const font = "12px system-ui, sans-serif", left = 12, high = 18;
  g.font = font;
  let x = left, row = 0;
  const places = keys.map(([name]) => {
    const wide = g.measureText(name).width + 38;
    if (x > left && x + wide > width) { x = left; row++; }
    x += wide;
    return [x - wide, 16 + row * high];
  });
  const top = keys.length ? (row + 1) * high + 8 : 0;
  made.width = canvas.width; made.height = canvas.height + top * ratio;
  g.scale(ratio, ratio);
  g.fillStyle = "#fbfbf9";
  g.fillRect(0, 0, width, made.height);
  g.font = font;
  keys.forEach(([name, colour, dashed], n) => {
    const [from, y] = places[n];
    g.setLineDash(dashed ? [4, 3] : []);
    g.strokeStyle = colour; g.lineWidth = dashed ? 2 : 5;
    g.beginPath(); g.moveTo(from, y - 4); g.lineTo(from + 16, y - 4); g.stroke();
    g.fillStyle = INK;
    g.fillText(name, from + 22, y);
  });
  g.drawImage(canvas, 0, top, width, canvas.height / ratio);
  return made;
}

function drawView(g, film, view, i, box) {
  const zoom = Math.min(box.width / view.span[0], box.height / view.span[1]);
  const [cx, cy] = at(view.centre, i);
  const X = x => box.left + box.width / 2 + (x - cx) * zoom, Y = y => box.height / 2 - (y - cy) * zoom;
  g.save();
  g.beginPath();
  g.rect(box.left, 0, box.width, box.height);
  g.clip();
  if (film.ground) drawGround(g, film.ground, X, Y, { ...box, reach: box.width / zoom, cx, follows: view.centre.shape[0] > 1 });
  const ghost = box.ghost ? box.ghost.shapes.filter(s => s.opacity === 1) : [], [right, up] = box.ghost ? apart(film, box.ghost) : [0, 0];
  const there = [x => X(x + right), y => Y(y + up)];
  for (const shape of ghost) drawShape(g, { ...shape, colour: REFERENCE, edge: "none", opacity: 0.35 }, box.j, ...there, zoom);
  for (const shape of film.shapes) drawShape(g, shape, i, X, Y, zoom);
  for (const shape of ghost) dash(g, shape, box.j, ...there);
  for (const { points, colour } of film.trails) {
    polyline(g, points.data.subarray(0, 2 * (i + 1)), X, Y, colour, 1.2);
    const [x, y] = at(points, i);
    g.beginPath(); g.arc(X(x), Y(y), 3, 0, 2 * Math.PI); g.fillStyle = colour; g.strokeStyle = "#ffffff"; g.fill(); g.stroke();
  }
  for (const force of film.forces) drawForce(g, force, i, box.scale, X, Y, view.span[1]);
  g.restore();
  g.save();
  if (!box.first) { g.strokeStyle = RIM; g.lineWidth = 1; g.strokeRect(box.left + 0.5, -1, box.width, box.height + 2); }
  g.font = `${box.small ? 10 : 11.5}px system-ui, sans-serif`;
  drawScale(g, box, zoom);
  if (!box.small) drawLabels(g, film, view, box, i);
  g.restore();
}

function drawGround(g, [height, slope], X, Y, box) {
  const a = box.cx - box.reach, b = box.cx + box.reach, drop = Math.tan(slope);
  g.beginPath();
  g.moveTo(X(a), Y(height - a * drop));
  g.lineTo(X(b), Y(height - b * drop));
  g.lineTo(X(b), Math.max(box.height, Y(height - b * drop)) + 9);
  g.lineTo(X(a), Math.max(box.height, Y(height - b * drop)) + 9);
  g.closePath();
  g.fillStyle = EARTH; g.strokeStyle = RIM; g.lineWidth = 1;
  g.fill(); g.stroke();
  if (!box.follows) return;
  const step = nice(box.reach / MARKS);  // marks show how far a view has moved
  g.beginPath();
  for (let x = step * Math.ceil(a / step); x < b; x += step) {
    const y = Y(height - x * drop);
    g.moveTo(X(x), y); g.lineTo(X(x), y + 0.02 * box.height);
  }
  g.stroke();
}

/** A path through points, with gaps where they are unknown. */
function trace(g, points, X, Y) {
  g.beginPath();
  let joined = false;
  for (let k = 0; k < points.length; k += 2) {
    const known = !Number.isNaN(points[k] + points[k + 1]);
    if (known) g[joined ? "lineTo" : "moveTo"](X(points[k]), Y(points[k + 1]));
    joined = known;
  }
}

function polyline(g, points, X, Y, colour, width) {
  trace(g, points, X, Y);
  g.strokeStyle = colour; g.lineWidth = width; g.lineCap = g.lineJoin = "round";
  g.stroke();
}

/** The outline at a sample: as it is, or moved as a rigid body. */
function outline(shape, i) {
  const points = at(shape.outline, i);
  if (!shape.pose) return points;
  const [right, up, angle] = at(shape.pose, i), c = Math.cos(angle), s = Math.sin(angle);
  const moved = new Float64Array(points.length);
  for (let k = 0; k < points.length; k += 2) {
    moved[k] = c * points[k] - s * points[k + 1] + right;
    moved[k + 1] = s * points[k] + c * points[k + 1] + up;
  }
  return moved;
}

/** How far a ghost moves along the ground, so that strides of a later time begin where the member does, as their cameras follow. */
function apart(film, ghost) {
  const [own, other] = [film, ghost].map(f => f.views[0].centre);
  if (own.shape[0] === 1 || other.shape[0] === 1 || (film.time.data[0] === 0 && ghost.time.data[0] === 0)) return [0, 0];
  const right = own.data[0] - other.data[0];
  return [right, -right * Math.tan(film.ground ? film.ground[1] : 0)];
}

/** The outline of a ghost's body, or the middle line of its limb, in front of the member: it is seen where both are close. */
function dash(g, shape, i, X, Y) {
  trace(g, shape.outline ? outline(shape, i) : at(shape.points, i), X, Y);
  if (shape.outline) g.closePath();
  g.setLineDash([4, 3]);
  g.strokeStyle = REFERENCE; g.lineWidth = 1.3;
  g.stroke();
  g.setLineDash([]);
}

function drawShape(g, shape, i, X, Y, zoom) {
  g.globalAlpha = shape.opacity;
  if (shape.outline) {
    trace(g, outline(shape, i), X, Y);
    g.closePath();
    g.fillStyle = shape.colour;
    g.fill();
    if (shape.edge !== "none") { g.strokeStyle = shape.edge; g.lineWidth = 0.8; g.stroke(); }
  } else {
    const points = at(shape.points, i), width = Math.max(1.2, shape.width * zoom);
    if (shape.opacity === 1) polyline(g, points, X, Y, "black", width + 1.4);
    polyline(g, points, X, Y, shape.colour, width);
  }
  g.globalAlpha = 1;
}

function drawForce(g, force, i, scale, X, Y, tall) {
  const [x, y] = at(force.at, i), [fx, fy] = at(force.force, i), size = Math.hypot(fx, fy) / scale;
  if (!(size > 0.02 * tall) || Number.isNaN(x + y)) return;
  const ax = X(x), ay = Y(y), bx = X(x + fx / scale), by = Y(y + fy / scale);
  const angle = Math.atan2(by - ay, bx - ax), head = 8;
  g.strokeStyle = g.fillStyle = force.colour; g.lineWidth = 2.2;
  g.beginPath(); g.moveTo(ax, ay); g.lineTo(bx - head * 0.7 * Math.cos(angle), by - head * 0.7 * Math.sin(angle)); g.stroke();
  g.beginPath();
  g.moveTo(bx, by);
  for (const turn of [2.6, -2.6]) g.lineTo(bx + head * Math.cos(angle + turn), by + head * Math.sin(angle + turn));
  g.fill();
}

function drawScale(g, box, zoom) {
  const length = nice(box.width / zoom / 5), foot = box.height - 12, from = box.left + 12;
  g.strokeStyle = INK; g.lineWidth = 2;
  g.beginPath(); g.moveTo(from, foot); g.lineTo(from + length * zoom, foot); g.stroke();
  write(g, metric(length), from, foot - 5);
}

function drawLabels(g, film, view, box, i) {
  if (view.title) write(g, view.title, box.left + 12, 18);
  if (!box.first) return;
  const right = box.left + box.width - 12;
  g.textAlign = "right";
  // in the ground: above it are the mechanism and what it hangs from
  film.readouts.forEach((r, n) => write(g, `${r.name} ${at(r.values, i)[0].toFixed(1)} ${r.unit}`, right, box.height - 12 - 15 * n));
}
