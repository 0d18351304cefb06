// Bytes of the page as arrays: header, then arrays from the next multiple of 8 (jaxgait.plot.explorer.playback.Pack).
"use strict";

async function gunzip(bytes) {
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

function fromBase64(id) {
  const text = atob(document.getElementById(id).textContent.trim()), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  document.getElementById(id).remove();
  return bytes;
}

/** Header of a block, its references replaced by arrays. */
function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  return arrays(header, buffer, 4 + length);
}

function arrays(x, buffer, base) {
  if (x === null || typeof x !== "object") return x;
  if (Array.isArray(x)) return x.map(e => arrays(e, buffer, base));
  if ("at" in x && "kind" in x) return array(x, buffer, base + x.at);
  return Object.fromEntries(Object.entries(x).map(([k, e]) => [k, arrays(e, buffer, base)]));
}

function array({ kind, shape, low, step }, buffer, start) {
  const count = shape.reduce((a, b) => a * b, 1);
  if (kind !== "d2") {
    const type = { f4: Float32Array, f8: Float64Array, u1: Uint8Array }[kind];
    return { data: new type(buffer, start, count), shape };
  }
  const steps = new Uint16Array(buffer, start, count), data = new Float32Array(count), row = count / shape[0];
  const last = new Uint16Array(row);
  for (let k = 0; k < count; k++) {
    const whole = last[k % row] = last[k % row] + steps[k];
    data[k] = (whole & 0xffff) === 0xffff ? NaN : low + step * (whole & 0xffff);
  }
  return { data, shape };
}
