// ---- the front: points and parallel coordinates, linked; bounds; the table ----
const scale = ["#8e44ad", "#4f6bd0", "#2a8fa8", "#22a884", "#6cbf45", "#d0a000"]; // seen on light and on dark
const bounds = new Map(); // key -> [low, high]
const ownRow = front.rows.findIndex((_, i) => idOf(i) === ownId); // -1: not on the front
const ownName = ownId === knee ? "recommended: " + knee : "design " + ownId;
let within = front.rows.map((_, i) => i); // rows within the bounds
let focus = ownRow, selected = -1;
const tenths = v => Math.round(10 * v) / 10;

function describe(i) {
    return "design " + idOf(i) + "\n" + [...choices, ...objectives.map(column)].filter(Boolean)
        .map(c => brief(c.key) + " = " + human(c.key, front.rows[i][c.place])).join("\n");
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
    const limits = [...bounds].map(([key, [low, high]]) => [column(key).value, low, high]);
    within = [];
    for (let i = 0; i < front.rows.length; i++)
        if (limits.every(([value, low, high]) => value[i] >= low && value[i] <= high)) within.push(i);
    at("count").textContent = within.length + " of " + front.rows.length + " designs";
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
// What the dense model learns, on an axis of what is learned; null: on others, or where nobody knows.
const endOf = c => c.key === data.ends.quantity ? data.ends.dense : null;
const endsText = () => data.ends.dense === null ? "" : "dense: " + human(data.ends.quantity, String(data.ends.dense)) +
    (data.ends.constant === null ? "" : ", a constant answer: " + human(data.ends.quantity, String(data.ends.constant)));

function axis(c, from, to, logarithmic) {
    const log = logarithmic && c.numeric && c.low > 0 && c.high >= 2 * c.low;
    const f = log ? Math.log10 : v => v;
    let low = f(c.low), high = f(c.high);
    if (endOf(c) !== null) { low = Math.min(low, f(endOf(c))); high = Math.max(high, f(endOf(c))); }
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
    const label = v => c.numeric ? compact(v) : c.names[v];
    return { place, value, ticks, label };
}

function compact(v) {
    if (v !== 0 && Math.abs(v) < 1e-3) return v.toExponential(1);
    for (const [size, unit] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]])
        if (Math.abs(v) >= size) return +(v / (unit === "k" ? 1e3 : size)).toPrecision(4) + unit;
    return String(+v.toPrecision(4));
}

// Ticks at least `apart` from one another.
function sparse(a, apart) {
    let last = -Infinity;
    return a.ticks.map(t => [t, a.place(t)]).sort((p, q) => p[1] - q[1]).filter(([, p]) => p - last >= apart && ((last = p), true));
}

function colourOf(c, i) {
    if (!(c.high > c.low)) return 2;
    return Math.min(5, Math.floor(6 * (c.value[i] - c.low) / (c.high - c.low)) || 0);
}

// ---- points ----
const scatter = { left: 64, right: 12, top: 12, bottom: 44 };

function drawAxes(svg, s, cx, cy, x, y) {
    for (const [t, p] of sparse(x, 44)) svg.append(element("line", { class: "grid", x1: p, x2: p, y1: s.top, y2: s.height - s.bottom }),
        element("text", { x: p, y: s.height - s.bottom + 16, "text-anchor": "middle" }, x.label(t)));
    for (const [t, p] of sparse(y, 18)) svg.append(element("line", { class: "grid", x1: s.left, x2: s.width - s.right, y1: p, y2: p }),
        element("text", { x: s.left - 6, y: p + 4, "text-anchor": "end" }, y.label(t).slice(0, 9)));
    const dense = { stroke: "currentColor", "stroke-dasharray": "6 3", opacity: 0.6 };
    if (endOf(cx) !== null) svg.append(element("line", { ...dense, x1: x.place(endOf(cx)), x2: x.place(endOf(cx)), y1: s.top, y2: s.height - s.bottom }, element("title", {}, endsText())));
    if (endOf(cy) !== null) svg.append(element("line", { ...dense, x1: s.left, x2: s.width - s.right, y1: y.place(endOf(cy)), y2: y.place(endOf(cy)) }, element("title", {}, endsText())));
    svg.append(element("text", { x: (s.left + s.width) / 2, y: s.height - 8, "text-anchor": "middle" }, cx.key),
        element("text", { x: 12, y: s.height / 2, transform: `rotate(-90 12 ${s.height / 2})`, "text-anchor": "middle" }, cy.key));
}

const valueOf = (c, text) => c.numeric ? Number(text) : c.names.indexOf(text);

// The page's design, where it is not of the front, as a diamond; whether it lies within the axes.
function drawOwn(svg, s, x, y) {
    const seen = x >= s.left && x <= s.width - s.right && y >= s.top && y <= s.height - s.bottom;
    if (seen) svg.append(element("path", { d: `M${tenths(x)} ${tenths(y - 8)}l8 8l-8 8l-8 -8z`, fill: "none", stroke: "var(--mark)", "stroke-width": 3 },
        element("title", {}, "design " + ownId)));
    return seen;
}

function drawScatter() {
    const s = scatter, cx = column(at("x").value), cy = column(at("y").value), cc = column(at("colour").value);
    s.width = at("scatter").clientWidth || 960;
    s.height = Math.round(Math.max(300, Math.min(440, 0.8 * s.width)));
    const svg = element("svg", { viewBox: `0 0 ${s.width} ${s.height}`, tabindex: 0, role: "application",
        "aria-label": `${cy.key} against ${cx.key}; arrow keys go through the designs, Enter selects one` });
    const x = axis(cx, s.left, s.width - s.right, at("log").checked), y = axis(cy, s.height - s.bottom, s.top, at("log").checked);
    drawAxes(svg, s, cx, cy, x, y);
    // Points as strokes of no length with round ends: one path for each colour, however many designs.
    const chosen = new Uint8Array(front.rows.length), paths = Array.from({ length: 7 }, () => []);
    for (const i of within) chosen[i] = 1;
    s.points = [];
    for (let i = 0; i < front.rows.length; i++) {
        const px = x.place(cx.value[i]), py = y.place(cy.value[i]);
        if (!isFinite(px) || !isFinite(py)) continue;
        paths[chosen[i] ? 1 + colourOf(cc, i) : 0].push(`M${tenths(px)} ${tenths(py)}h0`);
        if (chosen[i]) s.points.push([px, py, i]);
    }
    paths.forEach((path, k) => svg.append(element("path", { d: path.join(""), fill: "none", "stroke-linecap": "round",
        stroke: k ? scale[k - 1] : "var(--faint)", "stroke-width": k ? 6 : 3 })));
    s.points.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    s.ring = element("circle", { r: 8, fill: "none", stroke: "var(--mark)", "stroke-width": 3 });
    svg.append(s.ring);
    const ownDrawn = ownRow < 0 && drawOwn(svg, s, x.place(valueOf(cx, own[cx.place])), y.place(valueOf(cy, own[cy.place])));
    listen(svg);
    at("scatter").replaceChildren(svg);
    const label = v => cc.numeric ? compact(v) : cc.names[Math.round(v)];
    at("legend").replaceChildren(cc.key + ":", ...keys(cc.numeric || cc.names.length > 6
        ? scale.map((colour, k) => [k === 0 ? label(cc.low) : k === 5 ? label(cc.high) : "", colour])
        : cc.names.map((name, k) => [name, scale[Math.min(5, Math.floor(6 * k / (cc.names.length - 1)) || 0)]])), `\u2003\u25ef the ${ownId === knee ? "recommended" : "page's"} or pointed-at design` + (ownDrawn ? `\u2003\u25c7 design ${ownId}, not on the front` : "") +
        (endOf(cx) !== null || endOf(cy) !== null ? `\u2003\u254c\u254c ${endsText()}` : ""));
}

function nearest(svg, event) {
    const box = svg.getBoundingClientRect(), k = scatter.width / box.width;
    const mx = (event.clientX - box.left) * k, my = (event.clientY - box.top) * k;
    let best = -1, least = 900;
    for (const [px, py, i] of scatter.points) {
        const distance = (px - mx) ** 2 + (py - my) ** 2;
        if (distance < least) { least = distance; best = i; }
    }
    return best;
}

function listen(svg) {
    svg.addEventListener("pointermove", event => { const i = nearest(svg, event); tell(i, event.clientX, event.clientY); if (i >= 0) setFocus(i); });
    svg.addEventListener("pointerleave", () => tell(-1));
    svg.addEventListener("blur", () => tell(-1));
    svg.addEventListener("click", event => { const i = nearest(svg, event); if (i >= 0) select(i); });
    svg.addEventListener("keydown", event => {
        const { points } = scatter, last = points.length - 1, now = points.findIndex(p => p[2] === focus);
        const next = { ArrowRight: now + 1, ArrowUp: now + 1, ArrowLeft: now - 1, ArrowDown: now - 1, Home: 0, End: last }[event.key];
        if (event.key === "Escape") tell(-1);
        if (event.key === "Enter" && now >= 0) select(focus);
        if (next === undefined || last < 0) return;
        event.preventDefault();
        const [px, py, i] = points[Math.max(0, Math.min(last, next))], box = svg.getBoundingClientRect(), k = box.width / scatter.width;
        setFocus(i);
        tell(i, box.left + px * k, box.top + py * k);
    });
}

function setFocus(i) {
    focus = i;
    const p = scatter.points.find(q => q[2] === i);
    scatter.ring.setAttribute("visibility", p ? "visible" : "hidden");
    if (p) { scatter.ring.setAttribute("cx", p[0]); scatter.ring.setAttribute("cy", p[1]); }
    parallel.line.setAttribute("d", i >= 0 ? lineOf(i) : "");
}

// A design beside that of the page.
function select(i) {
    selected = i;
    const rows = columns.filter(c => c.place && (c.choice || c.varies && front.rows[i][c.place] !== "nan"));
    at("selected").hidden = false;
    at("selected").replaceChildren(element("h3", {}, "Selected: design " + idOf(i)),
        element("div", { class: "wide" }, element("table", {}, element("tr", {}, ...["", idOf(i), ownName].map(t => element("th", { scope: "col" }, t))),
            ...rows.map(c => element("tr", {}, heading(c.key), ...[front.rows[i][c.place], own[c.place]].map(text =>
                element("td", c.numeric ? { class: "number", title: text } : {}, c.choice ? text : human(c.key, text))))))),
        element("p", {}, `To hand it over: tenfold export DIR --point ${idOf(i)} -o OUT`));
    setFocus(i);
}

// ---- parallel coordinates: upright axes, or lying ones on a narrow page ----
const parallel = {};

function corner(k, v) {
    const p = parallel, along = isFinite(v) ? Math.round(p.axis[k].place(v)) : p.nowhere;
    return p.lying ? along + " " + p.across[k] : p.across[k] + " " + along;
}

const lineOf = i => shown.map((c, k) => (k ? "L" : "M") + corner(k, c.value[i])).join("");

// Each stretch between two axes once, in three paths by how many designs share it.
function stretches(rows, most) {
    const paths = [[], [], []];
    for (let k = 0; k + 1 < shown.length; k++) {
        const count = new Map(), a = shown[k].value, b = shown[k + 1].value;
        for (const i of rows) {
            const key = parallel.bin[k][i] << 12 | parallel.bin[k + 1][i];
            count.set(key, (count.get(key) || 0) + 1);
        }
        const [p, q] = [parallel.across[k], parallel.across[k + 1]];
        for (const [key, n] of count) {
            const u = key >> 12, v = key & 4095;
            paths[n > most / 20 ? 2 : n > most / 200 ? 1 : 0].push(parallel.lying ? `M${u} ${p}L${v} ${q}` : `M${p} ${u}L${q} ${v}`);
        }
    }
    return paths.map(path => path.join(""));
}

function drawParallel() {
    const p = parallel, n = shown.length, width = at("parallel").clientWidth || 960;
    p.lying = width < 46 * n;
    const height = p.lying ? 50 * n + 24 : 300, from = p.lying ? 12 : height - 24, to = p.lying ? width - 12 : 52;
    p.nowhere = p.lying ? 4 : height - 4;
    p.across = shown.map((_, k) => tenths(p.lying ? 34 + 50 * k : n > 1 ? 40 + k * (width - 100) / (n - 1) : width / 2));
    p.axis = shown.map(c => axis(c, from, to, at("log").checked));
    p.bin = shown.map((c, k) => Uint16Array.from(c.value, v => isFinite(v) ? Math.round(p.axis[k].place(v)) : p.nowhere));
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "parallel coordinates of choices and objectives; bounds can be written below" });
    if (within.length < front.rows.length)
        svg.append(element("path", { d: stretches(front.rows.map((_, i) => i), Infinity)[0], fill: "none", stroke: "var(--faint)", "stroke-opacity": 0.25 }));
    stretches(within, within.length).forEach((d, k) => svg.append(element("path", { d, fill: "none", stroke: "var(--a)", "stroke-opacity": [0.25, 0.5, 0.9][k] })));
    p.line = element("path", { fill: "none", stroke: "var(--mark)", "stroke-width": 3 });
    svg.append(p.line, ...shown.map((c, k) => drawOneAxis(svg, c, k, Math.min(from, to), Math.max(from, to))));
    at("parallel").replaceChildren(svg);
}

function drawOneAxis(svg, c, k, low, high) {
    const p = parallel, a = p.axis[k], x = p.across[k], group = element("g", {});
    // A box along the axis from u to v, `half` wide to both sides.
    const box = (u, v, half, more) => element("rect", p.lying ? { x: u, y: x - half, width: v - u, height: 2 * half, ...more }
        : { x: x - half, y: u, width: 2 * half, height: v - u, ...more });
    group.append(element("line", p.lying ? { x1: low, x2: high, y1: x, y2: x, stroke: "var(--ink)" } : { x1: x, x2: x, y1: low, y2: high, stroke: "var(--ink)" }));
    const label = t => a.label(t).slice(0, p.lying ? 16 : 12), longest = Math.max(...a.ticks.map(t => label(t).length));
    for (const [t, q] of sparse(a, p.lying ? 14 + 6 * longest : 22)) group.append(p.lying
        ? element("text", { x: q, y: x + 13, class: "tick", "text-anchor": q < low + 3 * longest ? "start" : q > high - 3 * longest ? "end" : "middle" }, label(t))
        : element("text", { x: x + 4, y: q + 4, class: "tick" }, label(t)));
    const head = element("text", p.lying ? { x: low, y: x - 6, class: "tick", style: "fill:var(--ink)" }
        : { x, y: 14 + 16 * (k % 2), "text-anchor": k === 0 ? "start" : k + 1 === shown.length ? "end" : "middle" }, brief(c.key));
    head.append(element("title", {}, c.key));
    group.append(head);
    if (bounds.has(c.key)) {
        const ends = bounds.get(c.key).map(v => a.place(Math.max(c.low, Math.min(c.high, v)))).sort((u, v) => u - v);
        group.append(box(ends[0] - 3, ends[1] + 3, 6, { fill: "var(--mark)", "fill-opacity": 0.3, stroke: "var(--mark)" }));
    }
    const hit = box(low - 8, high + 8, 14, { fill: "transparent", style: p.lying ? "cursor:ew-resize" : "cursor:ns-resize;touch-action:none" });
    let begin = null;
    const place = event => {
        const frame = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / frame.width;
        return (p.lying ? event.clientX - frame.left : event.clientY - frame.top) * scale;
    };
    hit.addEventListener("pointerdown", event => { begin = place(event); hit.setPointerCapture(event.pointerId); });
    hit.addEventListener("pointerup", event => {
        if (begin === null) return;
        const end = place(event), values = [a.value(begin), a.value(end)].sort((u, v) => u - v);
        if (Math.abs(end - begin) < 4) bound(c.key, c.low, c.high);
        else bound(c.key, ...values);
        begin = null;
    });
    group.append(hit);
    return group;
}

// ---- bounds and the table ----
function fillBounds() {
    at("bounds").replaceChildren(...shown.map(c => {
        const [low, high] = bounds.get(c.key) || [c.low, c.high];
        const set = element("fieldset", {}, element("legend", {}, c.key));
        if (!c.numeric) {
            const choice = element("select", { "aria-label": c.key }, element("option", { value: "" }, "any"),
                ...c.names.map((name, i) => element("option", { value: i }, name)));
            choice.value = bounds.has(c.key) && low === high ? String(low) : "";
            choice.addEventListener("change", () => choice.value === "" ? bound(c.key, c.low, c.high) : bound(c.key, +choice.value, +choice.value));
            set.append(choice);
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

const order = { key: objectives[0], up: true, most: 25 };

function drawDesigns() {
    const c = column(order.key), listed = [columns[0], ...choices, ...objectives.map(column).filter(Boolean)];
    const sorted = [...within].sort((a, b) => (order.up ? 1 : -1) * (c.value[a] - c.value[b]) || a - b);
    const head = element("tr", {}, ...listed.map(k => {
        const button = element("button", { type: "button" }, k.key + (k.key === order.key ? order.up ? " \u2191" : " \u2193" : ""));
        button.addEventListener("click", () => { order.up = k.key === order.key ? !order.up : true; order.key = k.key; drawDesigns(); });
        return element("th", { scope: "col", "data-print": brief(k.key) }, button);
    }));
    at("designs").replaceChildren(head, ...sorted.slice(0, order.most).map(i => {
        const choose = element("button", { type: "button", title: "select this design" }, idOf(i));
        choose.addEventListener("click", () => select(i));
        const row = element("tr", i === ownRow ? { class: "chosen" } : {}, element("td", { class: "number" }, choose),
            ...listed.slice(1).map(k => element("td", k.numeric && !k.choice ? { class: "number", "data-print": human(k.key, front.rows[i][k.place]) }
                : k.numeric ? { class: "number" } : {}, front.rows[i][k.place])));
        row.addEventListener("pointerenter", () => setFocus(i));
        return row;
    }));
    at("more").hidden = sorted.length <= order.most;
    at("more").textContent = `Show ${Math.min(200, sorted.length - order.most)} more of ${sorted.length}`;
}

function draw() {
    drawScatter();
    drawParallel();
    drawDesigns();
    setFocus(focus);
}

// #dsp<=500&weights.square.rank>=8 opens the page with these bounds.
function readAddress() {
    for (const part of decodeURIComponent(location.hash.slice(1)).split("&")) {
        const found = /^(.+?)(<=|>=)([-+.\deE]+)$/.exec(part);
        if (!found || !column(found[1])) continue;
        const c = column(found[1]), [low, high] = bounds.get(c.key) || [c.low, c.high];
        bounds.set(c.key, found[2] === "<=" ? [low, Number(found[3])] : [Number(found[3]), high]);
    }
}

function startFront() {
    const varied = columns.filter(c => c.varies);
    at("count").textContent = front.rows.length + " of " + front.rows.length + " designs";
    if (!varied.length) return;
    for (const id of ["x", "y", "colour"]) at(id).append(...varied.map(c => element("option", { value: c.key }, c.key)));
    const vary = key => column(key) && column(key).varies;
    const first = [objectives.slice(1).find(vary), objectives[0], (shown.find(c => /rank/.test(c.key)) || shown[0] || {}).key];
    ["x", "y", "colour"].forEach((id, k) => { if (first[k] && vary(first[k])) at(id).value = first[k]; });
    for (const id of ["x", "y", "colour", "log"]) at(id).addEventListener("change", draw);
    at("clear").addEventListener("click", () => { bounds.clear(); filter(); fillBounds(); });
    at("more").addEventListener("click", () => { order.most += 200; drawDesigns(); });
    readAddress();
    filter();
    fillBounds();
    let width = innerWidth, waiting;
    addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(() => { if (innerWidth !== width) { width = innerWidth; draw(); drawTimeline(); } }, 150); });
}
