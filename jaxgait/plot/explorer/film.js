// Draws a member on a canvas: ground, trails, limbs, bodies, forces, scale bar. Arrays come as {data, shape}.
"use strict";

const INK = "#20252a", EARTH = "#dedad0", RIM = "#7a766c", NEWTON = "#D55E00";

/** The i-th sample of an array over samples; a single sample stands for all. */
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

/** Largest span of the first views of films, and largest force per length of their arrows: those of all side by side. */
function commonScale(shown) {
  const largest = value => Math.max(...shown.map(value));
  return { span: [0, 1].map(k => largest(f => f.views[0].span[k])), scale: largest(f => f.forces.length ? f.scale : 0) };
}

const forceKey = (tall, scale) => { const size = nice(tall / 6); return `${metric(size)}: ${+(size * scale).toPrecision(3)} N`; };

/** Draws a member at a time since its start; a second one behind it as a ghost; a small picture at a common scale. */
function drawFilm(canvas, film, elapsed, { ghost = null, small = null } = {}) {
  const { width, height, ratio } = sized(canvas), g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  const i = sampleAt(film.time.data, elapsed);
  const views = small ? [{ ...film.views[0], span: small.span }] : film.views;
  const aspects = views.map(v => v.span[0] / v.span[1]), total = aspects.reduce((a, b) => a + b, 0);
  let left = 0;
  views.forEach((view, n) => {
    const room = width * aspects[n] / total;
    const j = ghost ? sampleAt(ghost.time.data, elapsed) : 0;
    drawView(g, film, view, i, { left, width: room, height, first: n === 0, small, ghost, j });
    left += room;
  });
}

function drawView(g, film, view, i, box) {
  const zoom = Math.min(box.width / view.span[0], box.height / view.span[1]);
  const [cx, cy] = at(view.centre, i);
  const X = x => box.left + box.width / 2 + (x - cx) * zoom, Y = y => box.height / 2 - (y - cy) * zoom;
  g.save();
  g.beginPath();
  g.rect(box.left, 0, box.width, box.height);
  g.clip();
  if (film.ground) drawGround(g, film.ground, X, Y, { ...box, reach: box.width / zoom, cx });
  if (box.ghost) {
    g.globalAlpha = 0.3;
    for (const shape of box.ghost.shapes) drawShape(g, { ...shape, colour: "#7F7F7F", opacity: 1 }, box.j, X, Y, zoom, 0.3);
    g.globalAlpha = 1;
  }
  for (const shape of film.shapes) drawShape(g, shape, i, X, Y, zoom, 1);
  for (const { points, colour } of film.trails) {
    polyline(g, points.data.subarray(0, 2 * (i + 1)), X, Y, colour, 1.2);
    const [x, y] = at(points, i);
    g.beginPath(); g.arc(X(x), Y(y), 3, 0, 2 * Math.PI); g.fillStyle = colour; g.strokeStyle = "#ffffff"; g.fill(); g.stroke();
  }
  for (const force of film.forces) drawForce(g, force, i, (box.small || film).scale, X, Y, view.span[1]);
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

function drawShape(g, shape, i, X, Y, zoom, strength) {
  g.globalAlpha = shape.opacity * strength;
  if (shape.outline) {
    trace(g, outline(shape, i), X, Y);
    g.closePath();
    g.fillStyle = shape.colour;
    g.fill();
    if (shape.edge !== "none") { g.strokeStyle = shape.edge; g.lineWidth = 0.8; g.stroke(); }
  } else {
    const points = at(shape.points, i), width = Math.max(1.2, shape.width * zoom);
    if (shape.opacity * strength === 1) polyline(g, points, X, Y, "black", width + 1.4);
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
  const keys = [...Object.entries(film.legend).map(([name, colour]) => [colour, name]), ...film.trails.map(t => [t.colour, t.name])];
  if (film.forces.length) keys.push([NEWTON, `force (${forceKey(view.span[1], film.scale)})`]);
  const right = box.left + box.width - 12;
  g.textAlign = "right";
  keys.forEach(([colour, name], n) => {
    const y = 18 + 15 * n;
    write(g, name, right, y);
    g.fillStyle = colour; g.fillRect(right - g.measureText(name).width - 20, y - 7, 14, 5);
  });
  // in the ground: above it are the mechanism and what it hangs from
  film.readouts.forEach((r, n) => write(g, `${r.name} ${at(r.values, i)[0].toFixed(1)} ${r.unit}`, right, box.height - 12 - 15 * n));
}
