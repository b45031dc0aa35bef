// ---- the design that the page is about: its figures, memories, time ----
const phases = ["forward", "input gradient", "weight gradient", "update"];
const phaseColour = ["var(--a)", "var(--b)", "var(--c)", "var(--d)"];
const phaseKeys = () => keys(phases.map((name, k) => [name, phaseColour[k]]));
const listedMost = 40; // lines of a figure

// At least as good as it in every objective and better in one; false where a value is not known.
function beatsOwn(row) {
    const gains = sweep.objectives.map(o => (o.direction === "maximise" ? 1 : -1) * (row[front.head.indexOf(o.quantity)] - ownText(o.quantity)));
    return gains.every(gain => gain >= 0) && gains.some(gain => gain > 0);
}

function standing() {
    if (ownId === knee) return "the knee of the front";
    if (front.rows.some(row => row[0] === ownId)) return `on the front, whose knee is design ${knee}`;
    const lacks = data.design.resources.filter(r => r.used > r.available).map(r => r.resource), better = front.rows.filter(beatsOwn).length;
    if (lacks.length) return `which does not fit: it takes more ${lacks.join(", ")} than there is`;
    return "not on the front" + (better ? `: ${short(better)} of its designs are at least as good in every objective and better in one` : "");
}

function drawHead() {
    if (ownId !== knee) {
        at("recommended").querySelector("h2").textContent = "Design " + ownId;
        document.querySelector("nav a").textContent = "Design " + ownId;
        at("also").textContent = "Recommended";
    }
    at("title").textContent = data.space;
    document.title = data.space + " - tenfold report";
    at("subtitle").textContent = `${data.model} on ${data.device}: ${short(sweep.evaluated)} of ${short(sweep.designs)} designs evaluated, ` +
        `${short(sweep.feasible)} feasible, ${short(front.rows.length)} on the front` + (sweep.complete === "exhausted" ? "" : ` (unfinished: ${sweep.complete})`);
    at("headline").replaceChildren(...objectives.filter(key => column(key)).map(key => element("div", {},
        element("b", { title: ownText(key) }, human(key, ownText(key))), element("span", {}, key.replaceAll("_", " ")))));
    at("bound").textContent = `Design ${ownId}, ${standing()}. ${data.design.bound}` + (endsText() ? ` What can be learned lies between these ends: ${endsText()}.` : "");
}

function drawOthers() {
    const listed = ["reason", "id", ...objectives, ...choices.filter(c => c.varies).map(c => c.key)].filter(key => recommended.head.includes(key));
    at("others").replaceChildren(element("tr", {}, ...listed.map(key => element("th", { scope: "col", title: key }, brief(key)))),
        ...recommended.rows.map(row => element("tr", {}, ...listed.map(key => {
            const cell = row[recommended.head.indexOf(key)], number = objectives.includes(key) || cell !== "" && isFinite(Number(cell));
            return element("td", number ? { class: "number", title: cell } : {}, objectives.includes(key) ? human(key, cell) : cell);
        }))));
}

function drawMemories(d) {
    const kib = bits => bits / 8192, colour = { block: "var(--a)", ultra: "var(--c)", distributed: "var(--b)" };
    const memories = [...d.memories].sort((a, b) => b.capacity_bits - a.capacity_bits), listed = memories.slice(0, listedMost);
    const place = at("memory").querySelector("div");
    fillBars(place, listed.map(m => ({ name: m.arrays > 1 ? `${m.name} and ${m.arrays - 1} more` : m.name,
        parts: [[kib(m.capacity_bits), `color-mix(in srgb, ${colour[m.style] || colour.block} 35%, transparent)`],
            [kib(m.stored_bits), colour[m.style] || colour.block, true]],
        text: `${short(kib(m.capacity_bits))} KiB: ${m.memories > 1 ? m.memories + " x " : ""}${m.width_bits} bits x ${short(m.depth)}, ${m.style}` })),
        Math.max(1, ...memories.map(m => kib(m.capacity_bits))));
    place.after(element("p", { class: "note" }, ...keys([["block RAM", colour.block], ["UltraRAM", colour.ultra], ["LUTRAM", colour.distributed]]),
        memories.length > listed.length ? `; the ${listed.length} largest of ${memories.length}` : ""));
}

function drawTimeline() {
    const d = data.design, used = d.kernels.map((k, i) => i).filter(i => d.items.some(t => t[0] === i));
    const figure = at("timeline").querySelector("figure"), width = figure.clientWidth || 960, row = 46, left = 84;
    const height = row * used.length + 26, svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "operations by kernel over time" });
    const x = cycles => left + cycles / Math.max(1, d.cycles) * (width - left - 52), ms = d.cycles / d.clock_MHz / 1e3;
    used.forEach((kernel, r) => {
        const items = d.items.filter(t => t[0] === kernel);
        svg.append(element("text", { x: left - 8, y: 28 + row * r, "text-anchor": "end" }, d.kernels[kernel].name),
            element("text", { x: width - 48, y: 28 + row * r, class: "dim" }, (100 * d.kernels[kernel].utilisation).toFixed(1) + " %"));
        phases.forEach((_, phase) => svg.append(element("path", { fill: phaseColour[phase], d: items.filter(t => t[3] === phase)
            .map(t => `M${x(t[1]).toFixed(2)} ${8 + row * r}H${Math.max(x(t[1]) + 0.3, x(t[2])).toFixed(2)}v30H${x(t[1]).toFixed(2)}z`).join("") })));
        svg.append(element("path", { stroke: "var(--mark)", "stroke-width": 2, fill: "none", d: items.filter(t => t[4])
            .map(t => `M${x(t[1]).toFixed(2)} ${42 + row * r}H${x(t[2]).toFixed(2)}`).join("") }));
    });
    for (const share of [0, 0.25, 0.5, 0.75, 1]) svg.append(element("text", { x: x(share * d.cycles), y: height - 8, class: "tick", "text-anchor": "middle" },
        short(share * ms, 3) + (share === 1 ? " ms" : "")));
    figure.replaceChildren(svg, element("p", { class: "note" }, ...phaseKeys(), ...keys([["critical path", "var(--mark)"]]), "; right: share of the time that a kernel is busy"));
}

function drawLayers(d) {
    const lines = new Map(), ms = cycles => cycles / d.clock_MHz / 1e3;
    for (const [, start, finish, phase, , layer] of d.items) {
        const name = d.layers[layer].replace(/^(.*?)\d+\./, "$1."); // layers of a repeated block are one line
        if (!lines.has(name)) lines.set(name, [0, 0, 0, 0]);
        lines.get(name)[phase] += ms(finish - start);
    }
    const sum = times => times.reduce((a, b) => a + b, 0), place = at("layers").querySelector("div");
    const rows = [...lines].sort((a, b) => sum(b[1]) - sum(a[1])).slice(0, listedMost);
    fillBars(place, rows.map(([name, times]) => ({ name, parts: times.map((t, k) => [t, phaseColour[k]]),
        text: `${short(sum(times), 3)} ms, ${(100 * sum(times) / ms(d.cycles)).toFixed(1)} %` })), Math.max(1e-9, ...rows.map(r => sum(r[1]))));
    place.after(element("p", { class: "note" }, ...phaseKeys(), "; milliseconds that kernels are busy for the layer, and their share of the step"));
}

function drawDesign() {
    const d = data.design;
    drawHead();
    at("choices").replaceChildren(...choices.map(c => element("tr", {}, heading(c.key), element("td", {}, ownText(c.key)))));
    at("quantities").replaceChildren(...columns.filter(c => c.place && !c.choice && ownText(c.key) !== "nan")
        .map(c => element("tr", {}, heading(c.key), element("td", { class: "number", title: ownText(c.key) }, human(c.key, ownText(c.key))))));
    fillBars(at("resources"), d.resources.map(r => ({ name: r.resource, parts: [[r.available ? r.used / r.available : 0, "var(--a)"]],
        text: `${short(r.used)} of ${short(r.available)} (${r.available ? (100 * r.used / r.available).toFixed(1) + " %" : "none"})` })), 1);
    drawOthers();
    drawMemories(d);
    drawTimeline();
    drawLayers(d);
}
