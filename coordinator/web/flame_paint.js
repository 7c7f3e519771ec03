'use strict';
/* Draws the part of the tree that is in view, and finds the node under a point. The canvas is as
 * large as the visible part of its stage only, so a deep tree costs no memory. */

const ROW_HEIGHT = 21;
const TEXT_PAD = 5;
const TEXT_MIN_WIDTH = 28; /* narrower rectangles carry no text */
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';

/* Hue, spread of the hue over names, chroma, by kind of frame (OKLCH). */
const KIND_TONES = {
    native: [62, 44, 0.095],
    kernel: [255, 36, 0.07],
    named: [150, 40, 0.065],
    mark: [90, 0, 0.004],
};

class Palette {
    constructor(model, dark) {
        this.model = model;
        this.dark = dark;
        this.text = dark ? '#f1f2f4' : '#1b1e22';
        this.paper = dark ? '#16181c' : '#ffffff';
        this.outline = dark ? '#ffffff' : '#111418';
        this.byFunction = new Array(model.names.length);
    }

    fill(node) {
        if (this.model.differential)
            return this.byChange(node === 0 ? null : this.model.change(node));
        if (node === 0)
            return this.tone(KIND_TONES.mark, 0);
        const f = this.model.func[node];
        return this.byFunction[f] || (this.byFunction[f] = this.ofFunction(node));
    }

    ofFunction(node) {
        return this.tone(KIND_TONES[this.model.kind(node)] || KIND_TONES.native,
            hashName(this.model.name(node)));
    }

    /* `spot` (0..1) places a name within its kind. */
    tone([hue, spread, chroma], spot) {
        const light = this.dark ? 0.43 + 0.07 * ((spot * 7) % 1) : 0.845 + 0.06 * ((spot * 7) % 1);
        return oklch(light, chroma, hue + spread * (spot - 0.5));
    }

    /* Blue: less than before; red: more; grey: within the noise. */
    byChange(change) {
        const strength = change === null ? 0 : Math.sqrt(Math.min(1, Math.abs(change)));
        const light = this.dark ? 0.38 + 0.14 * strength : 0.90 - 0.20 * strength;
        return oklch(light, 0.15 * strength, change > 0 ? 25 : 255);
    }
}

/* "#rrggbb" of an OKLCH colour (B. Ottosson, 2020), clipped to sRGB. The canvas knows oklch(), too,
 * but reads hexadecimal far faster. */
function oklch(light, chroma, hue) {
    const angle = hue * Math.PI / 180;
    const a = chroma * Math.cos(angle), b = chroma * Math.sin(angle);
    const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const s = (light - 0.0894841775 * a - 1.2914855480 * b) ** 3;
    const channels = [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s];
    return '#' + channels.map((linear) => {
        const v = linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055;
        return Math.round(255 * Math.min(1, Math.max(0, v))).toString(16).padStart(2, '0');
    }).join('');
}

/* 0..1, the same for the same name everywhere (FNV-1a). */
function hashName(name) {
    let h = 0x811c9dc5;
    for (let i = 0; i < name.length; i++)
        h = Math.imul(h ^ name.charCodeAt(i), 0x01000193);
    return ((h ^ (h >>> 15)) >>> 0) / 0x100000000;
}

class FlamePainter {
    constructor(stage, canvas, spacer, model) {
        this.stage = stage;
        this.canvas = canvas;
        this.spacer = spacer;
        this.model = model;
        this.pen = canvas.getContext('2d', {alpha: false});
        this.nameWidth = new Float32Array(model.names.length);
        this.zoom = 0;
        this.upright = false; /* true: the root at the bottom */
        this.hover = -1;
        this.focus = -1;
        this.matches = null; /* by function, or null when nothing is searched */
    }

    usePalette(dark) {
        this.palette = new Palette(this.model, dark);
    }

    /* To the size of the stage; call before the first draw and when the stage changed. */
    resize() {
        const ratio = window.devicePixelRatio || 1;
        this.cssWidth = this.stage.clientWidth;
        this.cssHeight = this.stage.clientHeight;
        this.canvas.width = Math.round(this.cssWidth * ratio);
        this.canvas.height = Math.round(this.cssHeight * ratio);
        this.canvas.style.width = this.cssWidth + 'px';
        this.canvas.style.height = this.cssHeight + 'px';
        this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
        this.alpha = 1; /* a canvas that changes its size starts anew */
        this.measureDepth();
    }

    /* The rows that the zoomed subtree has set how far the stage scrolls. */
    measureDepth() {
        let deepest = this.model.depth[this.zoom];
        for (let i = this.zoom; i < this.model.end[this.zoom]; i++)
            if (this.model.width[i] > 0 && this.model.depth[i] > deepest)
                deepest = this.model.depth[i];
        this.rowCount = deepest + 1;
        this.fullHeight = Math.max(this.rowCount * ROW_HEIGHT, this.cssHeight);
        this.spacer.style.height = (this.fullHeight - this.cssHeight) + 'px';
    }

    rowTop(depth) {
        const top = this.upright ? this.fullHeight - (depth + 1) * ROW_HEIGHT : depth * ROW_HEIGHT;
        return top - this.stage.scrollTop;
    }

    scale() {
        return this.cssWidth / this.model.width[this.zoom];
    }

    draw() {
        const pen = this.pen;
        pen.fillStyle = this.palette.paper;
        pen.fillRect(0, 0, this.cssWidth, this.cssHeight);
        if (!(this.model.width[this.zoom] > 0))
            return;
        pen.font = FONT;
        pen.textBaseline = 'middle';
        for (let depth = 0; depth < this.rowCount; depth++) {
            const top = this.rowTop(depth);
            if (top > -ROW_HEIGHT && top < this.cssHeight)
                this.drawRow(depth, top);
        }
        this.setAlpha(1);
        if (this.focus >= 0 && this.focus !== this.hover)
            this.drawOutline(this.focus);
        if (this.hover >= 0)
            this.drawOutline(this.hover);
    }

    drawRow(depth, top) {
        const model = this.model, row = model.rows[depth], scale = this.scale();
        const left = model.x[this.zoom], right = left + model.width[this.zoom];
        let painted = 0; /* pixels up to here are done */
        let k = model.firstEndingAfter(row, left);
        while (k < row.length && model.x[row[k]] < right) {
            const node = row[k];
            const from = Math.max(0, (model.x[node] - left) * scale);
            const to = Math.min(this.cssWidth, (model.x[node] + model.width[node] - left) * scale);
            if (to - painted < 0.5) { /* would cover the same pixel again */
                k = model.firstEndingAfter(row, left + (painted + 0.5) / scale, k + 1);
                continue;
            }
            this.drawNode(node, from, top, to - from);
            painted = to;
            k++;
        }
    }

    drawNode(node, x, y, width) {
        const pen = this.pen;
        const ancestor = node < this.zoom;
        const matched = !this.matches || (node > 0 && this.matches[this.model.func[node]]);
        this.setAlpha(matched ? (ancestor ? 0.55 : 1) : 0.22);
        pen.fillStyle = this.palette.fill(node);
        pen.fillRect(x, y, width > 3 ? width - 1 : Math.max(width, 0.5), ROW_HEIGHT - 1);
        if (width >= TEXT_MIN_WIDTH) {
            this.setAlpha(matched ? (ancestor ? 0.7 : 1) : 0.45);
            this.drawName(node, x, y, width);
        }
    }

    /* Most nodes share it, and asking the canvas costs. */
    setAlpha(alpha) {
        if (alpha !== this.alpha)
            this.pen.globalAlpha = this.alpha = alpha;
    }

    drawName(node, x, y, width) {
        const text = this.fit(node, width - 2 * TEXT_PAD);
        if (text) {
            this.pen.fillStyle = this.palette.text;
            this.pen.fillText(text, x + TEXT_PAD, y + ROW_HEIGHT / 2);
        }
    }

    /* The name, or as much of it as `room` pixels hold. */
    fit(node, room) {
        const name = this.model.name(node);
        const f = this.model.func[node];
        let full = f >= 0 ? this.nameWidth[f] : this.pen.measureText(name).width;
        if (full === 0)
            full = this.nameWidth[f] = this.pen.measureText(name).width;
        if (full <= room)
            return name;
        let keep = Math.floor(name.length * room / full);
        while (keep > 0 && this.pen.measureText(name.slice(0, keep) + '…').width > room)
            keep--;
        return keep > 1 ? name.slice(0, keep) + '…' : '';
    }

    drawOutline(node) {
        const box = this.box(node);
        if (!box)
            return;
        this.pen.strokeStyle = this.palette.outline;
        this.pen.lineWidth = 1.5;
        this.pen.strokeRect(box.x + 0.25, box.y + 0.25, Math.max(box.width - 1.5, 1), ROW_HEIGHT - 1.5);
    }

    /* Where `node` is on the stage, or null when it is out of view. */
    box(node) {
        const model = this.model, scale = this.scale(), left = model.x[this.zoom];
        const from = Math.max(0, (model.x[node] - left) * scale);
        const to = Math.min(this.cssWidth, (model.x[node] + model.width[node] - left) * scale);
        if (to < from || !(model.width[node] > 0))
            return null;
        return {x: from, y: this.rowTop(model.depth[node]), width: to - from, height: ROW_HEIGHT};
    }

    nodeAt(px, py) {
        if (!(this.model.width[this.zoom] > 0))
            return -1;
        const y = py + this.stage.scrollTop;
        const depth = Math.floor((this.upright ? this.fullHeight - y : y) / ROW_HEIGHT);
        return depth < 0 || depth >= this.rowCount
            ? -1 : this.model.nodeAt(depth, this.model.x[this.zoom] + px / this.scale());
    }

    /* Scrolls as little as shows the row of `node`. */
    reveal(node) {
        const top = this.rowTop(this.model.depth[node]);
        if (top < 0)
            this.stage.scrollTop += top;
        else if (top + ROW_HEIGHT > this.cssHeight)
            this.stage.scrollTop += top + ROW_HEIGHT - this.cssHeight;
    }
}
