"use strict";
// Errors are counted where a test finds them.
document.body.dataset.errors = "0";
window.addEventListener("error", () => { document.body.dataset.errors = String(+document.body.dataset.errors + 1); });

const data = JSON.parse(document.getElementById("data").textContent);
const phases = ["forward", "input gradient", "weight gradient", "update"];
const phaseColour = ["var(--a)", "var(--b)", "var(--c)", "var(--d)"];
const scale = ["#8e44ad", "#4f6bd0", "#2a8fa8", "#22a884", "#6cbf45", "#d0a000"]; // seen on light and on dark
const at = id => document.getElementById(id);

function element(name, attributes, ...children) {
    const svg = /^(svg|g|path|rect|line|text|circle|title)$/.test(name);
    const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const key in attributes || {}) made.setAttribute(key, attributes[key]);
    made.append(...children);
    return made;
}

// RFC 4180.
function parse(text) {
    const rows = [];
    let row = [];
    for (let at = 0; at < text.length; at++) {
        let end = at, cell;
        if (text[at] === '"') {
            do { end = text.indexOf('"', end + 1); } while (end >= 0 && text[end + 1] === '"' && end++ >= 0);
            if (end < 0) end = text.length;
            cell = text.slice(at + 1, end++).replaceAll('""', '"');
        } else {
            for (let c = text.charCodeAt(end); end < text.length && c !== 44 && c !== 10; c = text.charCodeAt(end)) end++;
            cell = text.slice(at, end);
            if (cell.endsWith("\r")) cell = cell.slice(0, -1);
        }
        while (end < text.length && text[end] === "\r") end++;
        row.push(cell);
        if (end >= text.length || text[end] === "\n") { rows.push(row); row = []; }
        at = end;
    }
    return { head: rows[0] || [], rows: rows.slice(1) };
}

function short(value) {
    if (typeof value !== "number" || !isFinite(value)) return String(value);
    if (Number.isInteger(value)) return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
    return String(+value.toPrecision(4));
}

// ---- designs: one for each row of front.csv, in its order ----
const front = parse(data.front), recommended = parse(data.recommended);
const sweep = JSON.parse(data.sweep);
const knee = recommended.rows.length ? recommended.rows[0][recommended.head.indexOf("id")] : "";
const objectives = sweep.objectives.map(o => o.quantity);
const columns = front.head.map((key, place) => {
    const texts = front.rows.map(row => row[place]);
    const numbers = texts.map(Number), numeric = numbers.every((v, i) => v === v && texts[i] !== "" || texts[i] === "nan");
    const names = numeric ? [] : [...new Set(texts)].sort(), placeOf = new Map(names.map((name, i) => [name, i]));
    const value = numeric ? numbers : texts.map(text => placeOf.get(text));
    const known = value.filter(isFinite);
    let low = Infinity, high = -Infinity;
    for (const v of known) { low = Math.min(low, v); high = Math.max(high, v); }
    return { key, place, numeric, names, value, low, high, varies: known.length > 0 && low < high,
             choice: data.choices.includes(key) };
});
const column = key => columns.find(c => c.key === key);
const shown = [...columns.filter(c => c.choice && c.varies), ...objectives.map(column).filter(c => c && c.varies)];
const bounds = new Map(); // key -> [low, high]
let selected = front.rows.map((_, i) => i), focus = front.rows.findIndex(row => row[front.head.indexOf("id")] === knee);

function describe(i) {
    const row = front.rows[i];
    return "design " + row[front.head.indexOf("id")] + "\n" +
        [...columns.filter(c => c.choice), ...objectives.map(column)].filter(Boolean).map(c => c.key + " = " + row[c.place]).join("\n");
}

function tell(i, x, y) {
    const tip = at("tip");
    tip.hidden = i < 0;
    if (i < 0) return;
    tip.textContent = describe(i);
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = Math.max(4, Math.min(y + 14, innerHeight - tip.offsetHeight - 8)) + "px";
}

function filter() {
    selected = [];
    front.rows.forEach((_, i) => {
        for (const [key, [low, high]] of bounds) {
            const v = column(key).value[i];
            if (!(v >= low && v <= high)) return;
        }
        selected.push(i);
    });
    at("count").textContent = selected.length + " of " + front.rows.length + " designs";
    draw();
}

function bound(key, low, high) {
    const c = column(key);
    if (!(low > c.low) && !(high < c.high)) bounds.delete(key);
    else bounds.set(key, [low, high]);
    filter();
    fillBounds();
}

// ---- axes ----
function axis(c, from, to, logarithmic) {
    const log = logarithmic && c.numeric && c.low > 0 && c.high >= 2 * c.low;
    const f = log ? Math.log10 : v => v;
    let low = f(c.low), high = f(c.high);
    if (!(high > low)) { low -= 0.5; high += 0.5; }
    const room = (high - low) * 0.04;
    low -= room; high += room;
    const place = v => from + (f(v) - low) / (high - low) * (to - from);
    const value = p => { const t = low + (p - from) / (to - from) * (high - low); return log ? 10 ** t : t; };
    let ticks = [];
    if (!c.numeric) ticks = c.names.map((_, i) => i);
    else if (log) {
        const steps = high - low > 3 ? [1] : high - low > 1.3 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
        for (let d = Math.floor(low); d <= high; d++)
            for (const s of steps) if (Math.log10(s * 10 ** d) >= low && Math.log10(s * 10 ** d) <= high) ticks.push(s * 10 ** d);
    } else {
        const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
        const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough);
        for (let v = Math.ceil(low / step) * step; v <= high; v += step) ticks.push(+v.toPrecision(12));
    }
    if (ticks.length < 2 && c.low < c.high) ticks = [c.low, c.high];
    const stride = Math.ceil(ticks.length / 12);
    ticks = ticks.filter((_, i) => i % stride === 0);
    const label = v => !c.numeric ? c.names[v] : Math.abs(v) >= 1e4 || (Math.abs(v) < 1e-3 && v !== 0) ? compact(v) : String(+v.toPrecision(4));
    return { place, value, ticks, label };
}

function compact(v) {
    for (const [size, unit] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
        if (Math.abs(v) >= size) return +(v / size).toPrecision(4) + unit;
    return v.toExponential(1);
}

function colourOf(c, i) {
    if (!(c.high > c.low)) return 2;
    return Math.min(5, Math.floor(6 * (c.value[i] - c.low) / (c.high - c.low)) || 0);
}

// ---- scatter ----
const scatter = { width: 960, height: 420, left: 80, right: 20, top: 12, bottom: 46 };

function drawScatter() {
    const s = scatter, cx = column(at("x").value), cy = column(at("y").value), cc = column(at("colour").value);
    const svg = element("svg", { viewBox: `0 0 ${s.width} ${s.height}`, tabindex: 0, role: "img",
        "aria-label": `${cy.key} against ${cx.key}; arrow keys go through the designs` });
    const x = axis(cx, s.left, s.width - s.right, at("log").checked), y = axis(cy, s.height - s.bottom, s.top, at("log").checked);
    for (const t of x.ticks) svg.append(element("line", { class: "grid", x1: x.place(t), x2: x.place(t), y1: s.top, y2: s.height - s.bottom }),
        element("text", { x: x.place(t), y: s.height - s.bottom + 16, "text-anchor": "middle" }, x.label(t)));
    for (const t of y.ticks) svg.append(element("line", { class: "grid", x1: s.left, x2: s.width - s.right, y1: y.place(t), y2: y.place(t) }),
        element("text", { x: s.left - 6, y: y.place(t) + 4, "text-anchor": "end" }, y.label(t)));
    svg.append(element("text", { x: (s.left + s.width) / 2, y: s.height - 8, "text-anchor": "middle" }, cx.key),
        element("text", { x: 14, y: s.height / 2, transform: `rotate(-90 14 ${s.height / 2})`, "text-anchor": "middle" }, cy.key));
    // Points as strokes of no length with round ends: one path for each colour, however many designs.
    const chosen = new Set(selected), paths = Array.from({ length: 7 }, () => []);
    s.points = [];
    front.rows.forEach((_, i) => {
        const px = x.place(cx.value[i]), py = y.place(cy.value[i]);
        if (!isFinite(px) || !isFinite(py)) return;
        paths[chosen.has(i) ? 1 + colourOf(cc, i) : 0].push(`M${tenths(px)} ${tenths(py)}h0`);
        if (chosen.has(i)) s.points.push([px, py, i]);
    });
    paths.forEach((path, k) => svg.append(element("path", { d: path.join(""), fill: "none", "stroke-linecap": "round",
        stroke: k ? scale[k - 1] : "var(--faint)", "stroke-width": k ? 6 : 3 })));
    s.points.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    s.ring = element("circle", { r: 8, fill: "none", stroke: "var(--mark)", "stroke-width": 3 });
    svg.append(s.ring);
    const near = event => {
        const box = svg.getBoundingClientRect(), k = s.width / box.width;
        const mx = (event.clientX - box.left) * k, my = (event.clientY - box.top) * k;
        let best = -1, least = 900;
        for (const [px, py, i] of s.points) {
            const distance = (px - mx) ** 2 + (py - my) ** 2;
            if (distance < least) { least = distance; best = i; }
        }
        return best;
    };
    svg.addEventListener("pointermove", event => { const i = near(event); tell(i, event.clientX, event.clientY); if (i >= 0) setFocus(i); });
    svg.addEventListener("pointerleave", () => tell(-1));
    svg.addEventListener("keydown", event => {
        const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
        if (event.key === "Escape") tell(-1);
        if (!step || !s.points.length) return;
        event.preventDefault();
        const now = s.points.findIndex(p => p[2] === focus);
        const next = s.points[Math.max(0, Math.min(s.points.length - 1, now + step))], box = svg.getBoundingClientRect();
        setFocus(next[2]);
        tell(next[2], box.left + next[0] * box.width / s.width, box.top + next[1] * box.width / s.width);
    });
    at("scatter").replaceChildren(svg);
}

function setFocus(i) {
    focus = i;
    const p = scatter.points.find(q => q[2] === i);
    scatter.ring.setAttribute("visibility", p ? "visible" : "hidden");
    if (p) { scatter.ring.setAttribute("cx", p[0]); scatter.ring.setAttribute("cy", p[1]); }
    parallel.line.setAttribute("d", i >= 0 ? lineOf(i) : "");
}

// ---- parallel coordinates ----
const parallel = { width: 960, height: 300, top: 60, bottom: 24, side: 60 };
const tenths = v => Math.round(10 * v) / 10;

function lineOf(i) {
    let path = "";
    for (let k = 0; k < shown.length; k++) {
        const v = shown[k].value[i];
        path += (k ? "L" : "M") + parallel.x[k] + " " + (isFinite(v) ? tenths(parallel.axis[k].place(v)) : parallel.height - 6);
    }
    return path;
}

function drawParallel() {
    const p = parallel;
    const svg = element("svg", { viewBox: `0 0 ${p.width} ${p.height}`, role: "img", "aria-label": "parallel coordinates; bounds can be written below" });
    p.x = shown.map((_, k) => shown.length > 1 ? tenths(p.side + k * (p.width - 2 * p.side) / (shown.length - 1)) : p.width / 2);
    p.axis = shown.map(c => axis(c, p.height - p.bottom, p.top, at("log").checked));
    const chosen = new Set(selected);
    svg.append(element("path", { d: front.rows.map((_, i) => chosen.has(i) ? "" : lineOf(i)).join(""), fill: "none", stroke: "var(--faint)", "stroke-opacity": 0.25 }),
        element("path", { d: selected.map(lineOf).join(""), fill: "none", stroke: "var(--a)", "stroke-opacity": selected.length > 200 ? 0.2 : 0.6 }));
    p.line = element("path", { fill: "none", stroke: "var(--mark)", "stroke-width": 3 });
    svg.append(p.line);
    shown.forEach((c, k) => {
        const x = p.x[k], a = p.axis[k], group = element("g", {});
        group.append(element("line", { x1: x, x2: x, y1: p.top, y2: p.height - p.bottom, stroke: "var(--ink)" }));
        const every = Math.ceil(a.ticks.length / 6);
        a.ticks.forEach((t, j) => { if (j % every === 0) group.append(element("text", { x: x + 4, y: a.place(t) + 4, class: "dim" }, a.label(t).slice(0, shown.length > 8 ? 9 : 16))); });
        group.append(element("text", { x, y: 14 + 15 * (k % 3), "text-anchor": k === 0 ? "start" : k + 1 === shown.length ? "end" : "middle" }, c.key));
        if (bounds.has(c.key)) {
            const [low, high] = bounds.get(c.key);
            const y1 = a.place(Math.min(high, c.high)), y2 = a.place(Math.max(low, c.low));
            group.append(element("rect", { x: x - 6, y: y1 - 3, width: 12, height: Math.max(6, y2 - y1 + 6), fill: "var(--mark)", "fill-opacity": 0.3, stroke: "var(--mark)" }));
        }
        const hit = element("rect", { x: x - 14, y: p.top - 8, width: 28, height: p.height - p.top - p.bottom + 16, fill: "transparent", style: "cursor:ns-resize;touch-action:none" });
        let from = null;
        const value = event => { const box = svg.getBoundingClientRect(); return a.value((event.clientY - box.top) * p.width / box.width); };
        hit.addEventListener("pointerdown", event => { from = value(event); hit.setPointerCapture(event.pointerId); });
        hit.addEventListener("pointerup", event => {
            if (from === null) return;
            const to = value(event);
            if (Math.abs(a.place(to) - a.place(from)) < 4) bound(c.key, c.low, c.high);
            else bound(c.key, Math.min(from, to), Math.max(from, to));
            from = null;
        });
        group.append(hit);
        svg.append(group);
    });
    at("parallel").replaceChildren(svg);
}

function fillBounds() {
    at("bounds").replaceChildren(...shown.map(c => {
        const [low, high] = bounds.get(c.key) || [c.low, c.high];
        const set = element("fieldset", {}, element("legend", {}, c.key));
        if (!c.numeric) {
            const select = element("select", { "aria-label": c.key }, element("option", { value: "" }, "any"),
                ...c.names.map((name, i) => element("option", { value: i }, name)));
            select.value = bounds.has(c.key) && low === high ? String(low) : "";
            select.addEventListener("change", () => select.value === "" ? bound(c.key, c.low, c.high) : bound(c.key, +select.value, +select.value));
            set.append(select);
        } else {
            const from = element("input", { type: "text", inputmode: "decimal", value: low, "aria-label": c.key + ", at least" });
            const to = element("input", { type: "text", inputmode: "decimal", value: high, "aria-label": c.key + ", at most" });
            const change = () => bound(c.key, from.value === "" ? c.low : Number(from.value), to.value === "" ? c.high : Number(to.value));
            from.addEventListener("change", change);
            to.addEventListener("change", change);
            set.append(from, " to ", to);
        }
        return set;
    }));
}

// ---- tables ----
const order = { key: objectives[0], up: true };

function drawDesigns() {
    const most = 100, c = column(order.key), keys = [column("id"), ...columns.filter(k => k.choice), ...objectives.map(column).filter(Boolean)];
    const sorted = [...selected].sort((a, b) => (order.up ? 1 : -1) * (c.value[a] - c.value[b]) || a - b);
    const head = element("tr", {}, ...keys.map(k => {
        const button = element("button", { type: "button" }, k.key + (k.key === order.key ? order.up ? " \u2191" : " \u2193" : ""));
        button.addEventListener("click", () => { order.up = k.key === order.key ? !order.up : true; order.key = k.key; drawDesigns(); });
        return element("th", { scope: "col" }, button);
    }));
    at("designs").replaceChildren(head, ...sorted.slice(0, most).map(i => {
        const row = element("tr", front.rows[i][0] === knee ? { class: "chosen" } : {},
            ...keys.map(k => element("td", k.numeric ? { class: "number" } : {}, front.rows[i][k.place])));
        row.addEventListener("pointerenter", () => setFocus(i));
        return row;
    }));
    if (sorted.length > most) at("designs").append(element("caption", {}, `the first ${most} of ${sorted.length}; bounds narrow them`));
}

function draw() {
    drawScatter();
    drawParallel();
    drawDesigns();
    setFocus(focus);
}

function table(parsed) {
    return element("table", {}, element("tr", {}, ...parsed.head.map(h => element("th", { scope: "col" }, h))),
        ...parsed.rows.map(row => element("tr", {}, ...row.map(cell => element("td", isFinite(Number(cell)) && cell !== "" ? { class: "number" } : {}, cell)))));
}

// ---- the recommended design ----
function bars(rows, most, label) { // rows: {name, parts: [[value, colour]..], text}
    const height = 20 * rows.length + 34, left = 260, width = 960, right = 150;
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
    rows.forEach((row, i) => {
        let x = left;
        svg.append(element("text", { x: left - 8, y: 20 * i + 15, "text-anchor": "end" }, row.name.slice(0, 40)));
        for (const [value, colour, on] of row.parts) {
            const w = value / most * (width - left - right);
            svg.append(element("rect", { x: on ? left : x, y: 20 * i + 3, width: w, height: 15, fill: colour, "fill-opacity": on === "light" ? 0.35 : 1 }));
            if (!on) x += w;
        }
        const end = left + Math.max(...row.parts.map(q => q[2] ? q[0] : 0), row.parts.reduce((sum, q) => sum + (q[2] ? 0 : q[0]), 0)) / most * (width - left - right);
        svg.append(element("text", { x: end + 6, y: 20 * i + 15, class: "dim" }, row.text));
    });
    svg.append(element("text", { x: left, y: height - 8, class: "dim" }, label));
    return svg;
}

function drawDesign() {
    const d = data.design, row = recommended.rows[0];
    at("title").textContent = data.space;
    document.title = data.space + " - tenfold report";
    at("subtitle").textContent = `${data.model} on ${data.device}: ${short(sweep.evaluated)} of ${short(sweep.designs)} designs evaluated, ` +
        `${short(sweep.feasible)} feasible, ${front.rows.length} on the front` + (sweep.complete === "exhausted" ? "" : ` (unfinished: ${sweep.complete})`);
    at("bound").textContent = `Design ${knee}, the knee of the front. ${d.bound}`;
    at("choices").replaceChildren(...columns.filter(c => c.choice).map(c => element("tr", {}, element("th", { scope: "row" }, c.key),
        element("td", {}, row[recommended.head.indexOf(c.key)]))));
    at("quantities").replaceChildren(...columns.filter(c => !c.choice && c.key !== "id").map(c => [c.key, row[recommended.head.indexOf(c.key)]])
        .filter(([, text]) => text !== "nan").map(([key, text]) => element("tr", {}, element("th", { scope: "row" }, key), element("td", { class: "number" }, text))));
    at("resources").replaceChildren(...d.resources.map(r => {
        const share = r.available ? r.used / r.available : 0;
        return element("div", { class: "bar" }, element("span", {}, r.resource),
            element("span", {}, element("i", { style: `width:${Math.min(100, 100 * share)}%` })),
            element("span", {}, `${short(r.used)} of ${short(r.available)} (${(100 * share).toFixed(1)} %)`));
    }));
    const kib = b => b / 8192, memories = [...d.memories].sort((a, b) => b.capacity_bits - a.capacity_bits).slice(0, 40);
    const colour = { block: "var(--a)", ultra: "var(--c)", distributed: "var(--b)" };
    at("memory").querySelector("figure").replaceChildren(bars(memories.map(m => ({
        name: m.arrays > 1 ? `${m.name} and ${m.arrays - 1} more` : m.name,
        parts: [[kib(m.capacity_bits), colour[m.style] || "var(--a)", "light"], [kib(m.stored_bits), colour[m.style] || "var(--a)", "dark"]],
        text: `${m.memories > 1 ? m.memories + " of " : ""}${m.width_bits} bits x ${short(m.depth)}, ${m.style}` })),
        Math.max(1, ...memories.map(m => kib(m.capacity_bits))), "KiB; block RAM blue, UltraRAM green, LUTRAM orange"));
    drawTimeline(d);
    drawLayers(d);
}

function legend(svg, y, left) {
    phases.forEach((name, k) => svg.append(element("rect", { x: left + 130 * k, y: y - 10, width: 12, height: 12, fill: phaseColour[k] }),
        element("text", { x: left + 130 * k + 18, y }, name)));
}

function drawTimeline(d) {
    const used = d.kernels.map((k, i) => i).filter(i => d.items.some(t => t[0] === i)), row = 46, left = 110, width = 960;
    const height = row * used.length + 54, svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "operations by kernel over time" });
    const x = cycles => left + cycles / Math.max(1, d.cycles) * (width - left - 70);
    used.forEach((kernel, r) => {
        svg.append(element("text", { x: left - 8, y: 30 + row * r, "text-anchor": "end" }, d.kernels[kernel].name),
            element("text", { x: width - 62, y: 30 + row * r, class: "dim" }, (100 * d.kernels[kernel].utilisation).toFixed(1) + " %"));
        phases.forEach((_, phase) => {
            const path = d.items.filter(t => t[0] === kernel && t[3] === phase)
                .map(t => `M${x(t[1]).toFixed(2)} ${8 + row * r}H${Math.max(x(t[1]) + 0.3, x(t[2])).toFixed(2)}v30H${x(t[1]).toFixed(2)}z`).join("");
            svg.append(element("path", { d: path, fill: phaseColour[phase] }));
        });
        const critical = d.items.filter(t => t[0] === kernel && t[4]).map(t => `M${x(t[1]).toFixed(2)} ${42 + row * r}H${x(t[2]).toFixed(2)}`).join("");
        svg.append(element("path", { d: critical, stroke: "var(--mark)", "stroke-width": 2, fill: "none" }));
    });
    legend(svg, height - 10, left);
    svg.append(element("text", { x: left + 540, y: height - 10, class: "dim" }, `${(d.cycles / d.clock_MHz / 1e3).toPrecision(4)} ms; line: critical path; right: busy`));
    at("timeline").querySelector("figure").replaceChildren(svg);
}

function drawLayers(d) {
    const lines = new Map(), ms = cycles => cycles / d.clock_MHz / 1e3;
    for (const [, start, finish, phase, , layer] of d.items) {
        const name = d.layers[layer].replace(/^(.*?)\d+\./, "$1."); // layers of a repeated block are one line
        if (!lines.has(name)) lines.set(name, [0, 0, 0, 0]);
        lines.get(name)[phase] += ms(finish - start);
    }
    const sum = times => times.reduce((a, b) => a + b, 0);
    const rows = [...lines].sort((a, b) => sum(b[1]) - sum(a[1])).slice(0, 40);
    const svg = bars(rows.map(([name, times]) => ({ name, parts: times.map((t, k) => [t, phaseColour[k]]),
        text: (100 * sum(times) / ms(d.cycles)).toFixed(1) + " %" })), Math.max(1e-9, ...rows.map(r => sum(r[1]))), "ms that kernels are busy for the layer, by phase (blue forward, orange input gradient, green weight gradient, grey update)");
    at("layers").querySelector("figure").replaceChildren(svg);
}

// ---- the rest ----
function start() {
    drawDesign();
    for (const id of ["x", "y", "colour"]) at(id).append(...columns.filter(c => c.varies).map(c => element("option", { value: c.key }, c.key)));
    const first = [objectives.find(k => k !== objectives[0] && column(k) && column(k).varies), objectives[0], (shown.find(c => /rank/.test(c.key)) || shown[0] || {}).key];
    ["x", "y", "colour"].forEach((id, k) => { if (first[k] && column(first[k]) && column(first[k]).varies) at(id).value = first[k]; });
    for (const id of ["x", "y", "colour", "log"]) at(id).addEventListener("change", draw);
    at("clear").addEventListener("click", () => { bounds.clear(); filter(); fillBounds(); });
    // #dsp<=500&weights.square.rank>=8 opens the page with these bounds.
    for (const part of decodeURIComponent(location.hash.slice(1)).split("&")) {
        const found = /^(.+?)(<=|>=)([-+.\deE]+)$/.exec(part);
        if (!found || !column(found[1])) continue;
        const c = column(found[1]), [low, high] = bounds.get(c.key) || [c.low, c.high];
        bounds.set(c.key, found[2] === "<=" ? [low, Number(found[3])] : [Number(found[3]), high]);
    }
    if (columns.some(c => c.varies)) { filter(); fillBounds(); }
    else at("count").textContent = front.rows.length + " of " + front.rows.length + " designs";
    const place = at("validation").querySelector("div");
    if (data.validation) place.replaceChildren(table(parse(data.validation)));
    else place.textContent = "Not executed: `tenfold validate DIR` runs the recommended designs' flows and is shown here then.";
    at("provenance").querySelector("div").replaceChildren(element("table", {}, ...Object.entries(sweep).filter(([, v]) => typeof v !== "object")
        .concat(Object.entries(sweep.sha256 || {}).map(([k, v]) => ["SHA-256 of the " + k, v]))
        .concat([["objectives", sweep.objectives.map(o => o.direction + " " + o.quantity).join(", ")], ["constraints", (sweep.constraints || []).map(c => typeof c === "string" ? c : JSON.stringify(c)).join(", ")]])
        .map(([k, v]) => element("tr", {}, element("th", { scope: "row" }, k), element("td", {}, String(v))))),
        element("p", {}, "Figures of the device file that are not verified: " + (data.design.unverified.join(", ") || "none") + "."));
    document.body.dataset.ready = "yes";
}
start();
