'use strict';
/* The flame page: reads the data, and joins the model, the picture, the table and the controls.
 * State lives in the painter (zoom, hover, focus, matches) and in `search`; each change ends in one
 * of show(), which refills everything, or requestDraw(). */

const COVERAGE_GOOD = 0.99; /* below this share of the wanted time, coverage is shown as a warning */
const WALKED_GOOD = 0.97; /* the same of user stacks walked to their outermost frame */
const TIP_GAP = 14; /* pixels between the pointer and the card */
const CRUMBS_MAX = 5; /* longer paths keep their root and their last few */

const byId = (id) => document.getElementById(id);

class FlamePage {
    constructor(model) {
        this.model = model;
        this.painter = new FlamePainter(byId('stage'), byId('canvas'), byId('spacer'), model);
        this.table = new FlameTable(byId('table'), byId('note'), model, (f) => this.pick(f));
        this.isDark = setUpTheme(byId('theme'));
        this.search = {text: '', regex: false, picked: -1};
        this.drawPending = false;
    }

    start() {
        document.title = `${this.model.title} – fleetprof`;
        byId('title').textContent = this.model.title;
        byId('coverage').replaceChildren(...coverageLines(this.model));
        this.listen();
        this.painter.usePalette(this.isDark());
        this.painter.resize();
        this.showChoices();
        this.painter.draw();
    }

    listen() {
        const stage = byId('stage');
        stage.addEventListener('mousemove', (e) => this.onPointer(e));
        stage.addEventListener('mouseleave', () => this.hoverOver(-1));
        stage.addEventListener('click', (e) => this.onClick(e));
        stage.addEventListener('scroll', () => this.requestDraw());
        stage.addEventListener('keydown', (e) => this.onStageKey(e));
        stage.addEventListener('blur', () => this.focusOn(-1));
        document.addEventListener('keydown', (e) => this.onPageKey(e));
        document.addEventListener('themechange', () => {
            this.painter.usePalette(this.isDark());
            this.requestDraw();
        });
        new ResizeObserver(() => {
            this.painter.resize();
            this.painter.draw();
        }).observe(stage);

        byId('search').addEventListener('input', (e) => this.setSearch({text: e.target.value, picked: -1}));
        byId('regex').addEventListener('click', () => this.setSearch({regex: !this.search.regex, picked: -1}));
        byId('sides').addEventListener('click', (e) => this.setMode(e.target.dataset.mode));
        byId('direction').addEventListener('click', (e) => {
            if (e.target.dataset.upright !== undefined)
                this.setUpright(Boolean(e.target.dataset.upright));
        });
    }

    requestDraw() {
        if (this.drawPending)
            return;
        this.drawPending = true;
        requestAnimationFrame(() => {
            this.drawPending = false;
            this.painter.draw();
        });
    }

    /* Everything that depends on zoom, sides or search. */
    show() {
        const painter = this.painter;
        this.showCrumbs();
        this.showFound();
        this.table.show(painter.zoom, painter.matches);
        byId('empty').hidden = this.model.width[painter.zoom] > 0;
        byId('empty').textContent = painter.zoom === 0
            ? 'No samples here. Widen the window or the selector; the ledger says what was lost.'
            : 'Nothing on this side. Press Esc to go back.';
        this.requestDraw();
    }

    /* Zoom */

    zoomTo(node) {
        this.painter.zoom = node;
        this.painter.hover = -1;
        this.hideTip();
        this.painter.measureDepth();
        this.painter.reveal(node);
        this.show();
    }

    showCrumbs() {
        const path = this.model.path(this.painter.zoom);
        const parts = [];
        path.forEach((node, i) => {
            const hidden = path.length - CRUMBS_MAX;
            if (i > 0 && i <= hidden) {
                if (i === hidden)
                    parts.push(element('span', '', `› … ${hidden} more`));
                return;
            }
            if (i > 0)
                parts.push(element('span', '', '›'));
            const button = element('button', '', this.model.name(node));
            button.type = 'button';
            button.title = this.model.name(node);
            if (i === path.length - 1)
                button.setAttribute('aria-current', 'true');
            button.addEventListener('click', () => this.zoomTo(node));
            parts.push(button);
        });
        byId('crumbs').replaceChildren(...parts);
    }

    /* Sides and direction */

    setMode(mode) {
        if (!mode || mode === this.model.mode)
            return;
        this.model.layOut(mode);
        this.painter.measureDepth();
        this.showChoices();
        this.show();
    }

    setUpright(upright) {
        this.painter.upright = upright;
        this.showChoices();
        byId('stage').scrollTop = upright ? this.painter.fullHeight : 0;
        this.painter.reveal(this.painter.zoom);
        this.requestDraw();
    }

    showChoices() {
        byId('sides').hidden = !this.model.differential;
        for (const b of byId('sides').children)
            b.setAttribute('aria-pressed', b.dataset.mode === this.model.mode);
        byId('legend').replaceChildren(...legend(this.model));
        for (const b of byId('direction').children)
            b.setAttribute('aria-pressed', Boolean(b.dataset.upright) === this.painter.upright);
    }

    /* Search */

    pick(f) {
        const again = this.search.picked === f;
        byId('search').value = again ? '' : this.model.names[f];
        this.setSearch({text: byId('search').value, picked: again ? -1 : f});
    }

    setSearch(change) {
        Object.assign(this.search, change);
        byId('regex').setAttribute('aria-pressed', this.search.regex);
        const matches = this.match();
        byId('search').setAttribute('aria-invalid', matches === undefined);
        this.painter.matches = matches || null;
        this.show();
        if (matches === undefined)
            byId('found').replaceChildren(element('span', 'bad', 'not a regular expression'));
    }

    /* By function; null: nothing is searched; undefined: not a regular expression. */
    match() {
        const {text, regex, picked} = this.search;
        if (text === '')
            return null;
        let test = (name) => name.toLowerCase().includes(text.toLowerCase());
        if (regex && picked < 0) {
            let expression;
            try {
                expression = new RegExp(text, 'i');
            } catch {
                return undefined;
            }
            test = (name) => expression.test(name);
        }
        return Uint8Array.from(this.model.names, (name, f) =>
            (picked >= 0 ? f === picked : test(name)) ? 1 : 0);
    }

    showFound() {
        const {model, painter} = this;
        if (!painter.matches) {
            byId('found').replaceChildren();
            return;
        }
        const weight = model.matchedWeight(painter.zoom, painter.matches);
        const text = model.sides().map((s) => {
            const share = weight[s] / (model.total[s][painter.zoom] || 1);
            const label = model.differential ? 'AB'[s] + ' ' : '';
            return `${label}${formatPercent(share)}, ${formatCores(model.cores(weight[s], s))} cores`;
        });
        byId('found').replaceChildren(element('b', '', text.join(' · ')), element('span', 'soft', ' matched'));
    }

    /* Pointer and keys */

    onPointer(e) {
        const box = byId('stage').getBoundingClientRect();
        this.hoverOver(this.painter.nodeAt(e.clientX - box.left, e.clientY - box.top));
        if (this.painter.hover >= 0)
            this.placeTip(e.clientX, e.clientY);
    }

    onClick(e) {
        const box = byId('stage').getBoundingClientRect();
        const node = this.painter.nodeAt(e.clientX - box.left, e.clientY - box.top);
        if (node >= 0)
            this.zoomTo(node);
    }

    hoverOver(node) {
        if (node === this.painter.hover)
            return;
        this.painter.hover = node;
        byId('stage').classList.toggle('pointing', node >= 0);
        if (node >= 0)
            this.fillTip(node);
        else
            this.hideTip();
        this.requestDraw();
    }

    focusOn(node) {
        this.painter.focus = node;
        if (node >= 0) {
            this.painter.reveal(node);
            this.fillTip(node);
            this.placeTipTowardsRoot(node);
        } else {
            this.hideTip();
        }
        this.requestDraw();
    }

    onStageKey(e) {
        const turned = this.painter.upright;
        const moves = {
            ArrowLeft: () => this.sibling(-1),
            ArrowRight: () => this.sibling(1),
            ArrowUp: () => turned ? this.child() : this.parent(),
            ArrowDown: () => turned ? this.parent() : this.child(),
            Enter: () => this.zoomTo(this.current()),
        };
        if (!moves[e.key] || e.ctrlKey || e.metaKey || e.altKey)
            return;
        e.preventDefault();
        const to = moves[e.key]();
        if (to !== undefined)
            this.focusOn(to);
    }

    current() {
        return this.painter.focus >= 0 ? this.painter.focus : this.painter.zoom;
    }

    parent() {
        return this.model.parent[this.current()];
    }

    child() {
        return this.painter.focus < 0 ? this.painter.zoom : this.model.children(this.current())[0];
    }

    /* Along the row: the neighbour may have another parent, as the eye sees it. */
    sibling(step) {
        const model = this.model, node = this.current(), zoom = this.painter.zoom;
        const row = model.rows[model.depth[node]];
        let k = model.firstEndingAfter(row, model.x[node]) + step;
        while (k >= 0 && k < row.length && model.width[row[k]] === 0)
            k += step;
        return row[k] >= zoom && row[k] < model.end[zoom] ? row[k] : node;
    }

    onPageKey(e) {
        const typing = e.target === byId('search');
        if (e.ctrlKey || e.metaKey || e.altKey)
            return;
        if (e.key === 'Escape') {
            this.goBack();
        } else if (!typing && e.key === '/') {
            e.preventDefault();
            byId('search').select();
        } else if (!typing && e.key === '0') {
            this.zoomTo(0);
        } else if (!typing && e.key === 'i') {
            this.setUpright(!this.painter.upright);
        }
    }

    /* Escape undoes the last thing first: the search, then one level of zoom. */
    goBack() {
        if (this.search.text !== '') {
            byId('search').value = '';
            this.setSearch({text: '', picked: -1});
        } else if (this.painter.zoom > 0) {
            this.zoomTo(this.model.parent[this.painter.zoom]);
        }
        byId('stage').focus();
    }

    /* The card at the pointer */

    fillTip(node) {
        const {model, painter} = this;
        const from = [element('strong', '', model.name(node))];
        if (model.binary(node))
            from.push(element('div', 'soft', model.binary(node)));
        if (model.file(node))
            from.push(element('div', 'soft', model.file(node)));
        from.push(model.differential
            ? changeTable(model, node)
            : weightTable(model, node, painter.zoom));
        byId('tip').replaceChildren(...from);
        byId('tip').hidden = false;
    }

    hideTip() {
        byId('tip').hidden = true;
    }

    /* Where it covers callers rather than the callees one is about to go to. */
    placeTipTowardsRoot(node) {
        const box = this.painter.box(node);
        const stage = byId('stage').getBoundingClientRect();
        if (!box)
            return;
        const y = this.painter.upright ? box.y + box.height : box.y - byId('tip').offsetHeight - 2 * TIP_GAP;
        this.placeTip(stage.left + box.x + Math.min(box.width / 2, 40), stage.top + y);
    }

    placeTip(x, y) {
        const tip = byId('tip'), gap = TIP_GAP;
        const width = tip.offsetWidth, height = tip.offsetHeight;
        const left = x + gap + width > innerWidth ? x - gap - width : x + gap;
        const top = y + gap + height > innerHeight ? y - gap - height : y + gap;
        tip.style.left = Math.max(4, left) + 'px';
        tip.style.top = Math.max(4, top) + 'px';
    }
}

function tableOf(rows) {
    const table = element('table');
    for (const [head, ...cells] of rows) {
        const row = element('tr');
        row.append(element('th', '', head), ...cells.map((c) => element('td', '', c)));
        table.append(row);
    }
    return table;
}

function weightTable(model, node, zoom) {
    const line = (label, ns) => {
        const cells = [label, formatCores(model.cores(ns, 0)) + ' cores', formatTime(ns),
            formatPercent(ns / model.total[0][0])];
        if (zoom > 0 && node >= zoom)
            cells.push(formatPercent(ns / model.total[0][zoom]) + ' of the zoom');
        return cells;
    };
    return tableOf([line('self', model.self[0][node]), line('total', model.total[0][node])]);
}

function ratioText(a, b) {
    if (a === 0)
        return b === 0 ? '' : 'new';
    return b === 0 ? 'gone' : formatChange(b / a - 1, formatPercent);
}

function changeTable(model, node) {
    const line = (label, column) => {
        const [a, b] = [0, 1].map((s) => model.cores(column[s][node], s));
        return [label, formatCores(a), formatCores(b), formatChange(b - a, formatCores),
            ratioText(a, b)];
    };
    const share = [0, 1].map((s) => formatPercent(model.total[s][node] / (model.total[s][0] || 1)));
    const table = tableOf([['cores', 'A', 'B', 'change', ''], line('self', model.self),
        line('total', model.total), ['share', ...share]]);
    if (model.change(node) === null && node > 0)
        table.append(tableOf([['within the noise of sampling']]).rows[0]);
    return table;
}

/* One line a side: hosts, samples, rate, loss, stacks walked to their root, window. */
function coverageLines(model) {
    return model.sides().map((side) => {
        const c = model.coverage[side];
        const line = element('div');
        const parts = c ? coverageParts(c) : [element('span', '', 'no coverage was given')];
        parts.unshift(element('span', '',
            `${formatCores(model.cores(model.total[side][0], side))} cores`));
        if (model.differential)
            line.append(element('b', '', 'AB'[side] + ' '));
        parts.forEach((part, i) => line.append(...(i > 0 ? [element('i', '', '·'), part] : [part])));
        return line;
    });
}

function coverageParts(c) {
    const hosts = c.hosts_covered < c.hosts_wanted ? 'warn' : '';
    const rate = c.hz_min === c.hz_max ? `${c.hz_min} Hz` : `${c.hz_min}–${c.hz_max} Hz`;
    const plural = c.hosts_wanted === 1 ? '' : 's';
    const walked = c.root_share == null ? []
        : [element('span', c.root_share < WALKED_GOOD ? 'warn' : '', `root reached ${formatPercent(c.root_share)}`)];
    return [
        element('span', hosts, c.hosts_covered < c.hosts_wanted
            ? `${c.hosts_covered} of ${c.hosts_wanted} hosts` : `${formatCount(c.hosts_covered)} host${plural}`),
        element('span', '', `${formatCount(c.samples)} samples at ${rate}`),
        element('span', c.lost_share > 0 ? 'warn' : '', `${formatPercent(c.lost_share)} lost`),
        ...walked,
        element('span', c.covered_share < COVERAGE_GOOD ? 'warn' : '',
            `${formatPercent(c.covered_share)} of the window covered`),
        element('span', '', `${formatMoment(c.from)} to ${formatMoment(c.to)} UTC`),
    ];
}

function legend(model) {
    if (model.differential) {
        const ramp = element('span', 'ramp');
        const width = {a: 'side A', b: 'side B', both: 'the larger side'}[model.mode];
        return [element('span', '', 'width: ' + width), document.createTextNode('less in B'), ramp,
            document.createTextNode('more in B; grey: within the noise of sampling')];
    }
    const texts = {native: 'native', kernel: 'kernel', named: 'interpreted or JIT', mark: 'marks: cut or unknown'};
    const present = new Set(model.kinds);
    return Object.keys(texts).filter((kind) => present.has(kind)).map((kind) => {
        const entry = element('span', '', texts[kind]);
        entry.prepend(element('span', 'dot ' + kind));
        entry.firstChild.style.marginRight = '6px';
        return entry;
    });
}

function main() {
    const root = document.documentElement;
    const data = byId('data');
    try {
        if (!data)
            throw new Error('this page carries no data; fetch it from /flame, or write it with fleetprof flame -o FILE');
        const before = performance.now();
        const page = new FlamePage(new FlameModel(JSON.parse(data.textContent)));
        page.start();
        root.dataset.paintMs = (performance.now() - before).toFixed(1);
        /* the picture first, the table in its own turn */
        setTimeout(() => {
            page.show();
            root.dataset.ready = 'true';
        });
    } catch (e) {
        byId('empty').hidden = false;
        byId('empty').textContent = 'The profile cannot be shown: ' + e.message;
        root.dataset.ready = 'failed';
    }
}

main();
