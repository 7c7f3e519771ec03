'use strict';
/* The table beside the picture: the functions of the current zoom, sortable, a row a button. It is
 * what a screen reader reads and what tests assert on. */

const TABLE_ROWS_MAX = 200;

/* key, heading, hint, value in a row's numbers, text of the value */
const PLAIN_COLUMNS = [
    ['self', 'Self', 'cores in the function itself', (r) => r.self[0], formatCores],
    ['selfShare', '%', 'self, of what is shown', (r) => r.selfShare, formatPercent],
    ['total', 'Total', 'cores in it and what it calls', (r) => r.total[0], formatCores],
    ['totalShare', '%', 'total, of what is shown', (r) => r.totalShare, formatPercent],
];
const CHANGE_COLUMNS = [
    ['selfA', 'Self A', 'cores in the function itself, before', (r) => r.self[0], formatCores],
    ['selfB', 'Self B', 'and after', (r) => r.self[1], formatCores],
    ['selfChange', 'Δ self', 'B less A, in cores', (r) => r.self[1] - r.self[0],
        (v) => formatChange(v, formatCores)],
    ['totalChange', 'Δ total', 'with what it calls', (r) => r.total[1] - r.total[0],
        (v) => formatChange(v, formatCores)],
];

class FlameTable {
    /* `pick(function)` is called with the function of a chosen row. */
    constructor(table, note, model, pick) {
        this.model = model;
        this.head = table.tHead;
        this.body = table.tBodies[0];
        this.note = note;
        this.pick = pick;
        this.columns = model.differential ? CHANGE_COLUMNS : PLAIN_COLUMNS;
        this.sortBy = model.differential ? 'selfChange' : 'self';
        this.descending = true;
        this.buildHead();
    }

    buildHead() {
        const row = element('tr');
        row.append(this.headCell('name', 'Function', 'by name', ''));
        for (const [key, text, hint] of this.columns)
            row.append(this.headCell(key, text, hint, 'number'));
        this.head.replaceChildren(row);
    }

    headCell(key, text, hint, className) {
        const cell = element('th', className);
        const button = element('button', '', text);
        cell.scope = 'col';
        cell.dataset.key = key;
        button.type = 'button';
        button.title = hint;
        button.addEventListener('click', () => {
            this.descending = this.sortBy === key ? !this.descending : key !== 'name';
            this.sortBy = key;
            this.fill();
        });
        cell.append(button);
        return cell;
    }

    /* Shows the subtree of `zoom`; `matches` (by function) narrows it, null shows all. */
    show(zoom, matches) {
        const model = this.model;
        const sums = model.functions(zoom);
        const whole = model.sides().map((s) => model.total[s][zoom]);
        this.rows = [];
        for (let f = 0; f < model.names.length; f++) {
            if ((matches && !matches[f]) || !sums.some((s) => s.total[f] > 0))
                continue;
            this.rows.push({
                f,
                weight: sums.map((s) => s.self[f]),
                self: sums.map((s, side) => model.cores(s.self[f], side)),
                total: sums.map((s, side) => model.cores(s.total[f], side)),
                selfShare: sums[0].self[f] / whole[0],
                totalShare: sums[0].total[f] / whole[0],
            });
        }
        this.fill();
    }

    sorted() {
        const direction = this.descending ? -1 : 1;
        const names = this.model.names;
        if (this.sortBy === 'name')
            return this.rows.sort((p, q) => direction * names[p.f].localeCompare(names[q.f]));
        const column = this.columns.find(([key]) => key === this.sortBy);
        /* a change sorts by its size: the largest of either sign first */
        const value = this.sortBy.endsWith('Change') ? (r) => Math.abs(column[3](r)) : column[3];
        return this.rows.sort((p, q) =>
            direction * (value(p) - value(q)) || q.total[0] - p.total[0] || p.f - q.f);
    }

    fill() {
        const shown = this.sorted().slice(0, TABLE_ROWS_MAX);
        this.body.replaceChildren(...shown.map((r) => this.bodyRow(r)));
        for (const cell of this.head.rows[0].cells)
            cell.setAttribute('aria-sort', cell.dataset.key !== this.sortBy ? 'none'
                : this.descending ? 'descending' : 'ascending');
        const count = formatCount(this.rows.length);
        this.note.textContent = shown.length < this.rows.length
            ? `first ${TABLE_ROWS_MAX} of ${count} functions` : `${count} functions`;
    }

    bodyRow(r) {
        const row = element('tr');
        const cell = element('td');
        const name = this.model.names[r.f];
        const button = element('button', 'name', name);
        const kind = this.model.kinds[r.f] || 'native';
        button.type = 'button';
        button.title = this.model.binaries[r.f] ? `${name}\n${this.model.binaries[r.f]}` : name;
        button.addEventListener('click', () => this.pick(r.f));
        cell.append(element('span', `dot ${this.model.differential ? '' : kind}`), button);
        row.append(cell);
        for (const [key, , , value, format] of this.columns)
            row.append(element('td', 'number ' + this.tint(key, r), format(value(r))));
        return row;
    }

    /* Changes beyond the noise have a colour. */
    tint(key, r) {
        if (key !== 'selfChange')
            return '';
        const change = this.model.changeOf(r.weight[0], r.weight[1]);
        return change === null ? 'soft' : change > 0 ? 'more' : 'less';
    }
}
