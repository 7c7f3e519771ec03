'use strict';
/* The call tree in preorder columns, so that a subtree is a stretch of indices, every row of the
 * picture is sorted by x, and everything is found by bisection. Knows nothing of the screen.
 * Widths are in cores: weight divided by its window. */

const ROOT_FUNCTION = -1;

/* A change is painted grey unless it is this many standard deviations from zero; sampling is taken
 * as Poisson, and three leave room for samples that come in bursts. */
const NOISE_SIGMAS = 3;

/* Lightest first; of equals, the later node first. Most nodes have a few children, for which the
 * library's sort takes longer to begin than this takes to end. */
const SHORT_LIST = 12;

function sortByWeight(nodes, begin, end, weight) {
    if (end - begin > SHORT_LIST) {
        nodes.subarray(begin, end).sort((p, q) => weight[p] - weight[q] || q - p);
        return;
    }
    for (let k = begin + 1; k < end; k++) {
        const node = nodes[k], heft = weight[node];
        let at = k;
        for (; at > begin; at--) {
            const before = nodes[at - 1];
            if (weight[before] < heft || (weight[before] === heft && before > node))
                break;
            nodes[at] = before;
        }
        nodes[at] = node;
    }
}

function reordered(values, order) {
    const out = new Float64Array(order.length);
    for (let i = 0; i < order.length; i++)
        out[i] = values[order[i]];
    return out;
}

/* Each node's own value and those below it; parents come before children. */
function summedUp(own, parent) {
    const sum = own.slice();
    for (let i = sum.length - 1; i > 0; i--)
        sum[parent[i]] += sum[i];
    return sum;
}

class FlameModel {
    constructor(data) {
        this.names = data.names;
        this.binaries = data.binaries || [];
        this.files = data.files || [];
        this.kinds = data.kinds || [];
        this.title = data.title || data.event || 'profile';
        this.event = data.event || 'cpu';
        this.coverage = [data.coverage || null, data.coverage_b || null];
        this.windows = [data.window_ns || 1, data.window_b_ns || data.window_ns || 1];
        this.differential = Array.isArray(data.self_b);
        this.count = data.parent.length;
        this.checkColumns(data);
        this.fillColumns(data, this.preorder(data));
        this.findExtents();
        this.samples = this.coverage.map((c) => (c && c.samples) || 0);
        this.layOut(this.differential ? 'both' : 'a');
    }

    checkColumns(data) {
        const columns = [data.function, data.self];
        if (this.differential)
            columns.push(data.self_b);
        if (this.count === 0 || columns.some((c) => c.length !== this.count))
            throw new Error('the columns of the data have different lengths');
        for (let i = 1; i < this.count; i++)
            if (!(data.parent[i] < i))
                throw new Error('node ' + i + ' comes before its parent');
    }

    /* Old indices in the new order: depth first, the widest child first. */
    preorder(data) {
        const n = this.count;
        const weight = this.inclusiveWeights(data);
        const first = new Int32Array(n + 2);
        for (let i = 1; i < n; i++)
            first[data.parent[i] + 2]++;
        for (let i = 2; i < n + 2; i++)
            first[i] += first[i - 1];
        const children = new Int32Array(n);
        for (let i = 1; i < n; i++)
            children[first[data.parent[i] + 1]++] = i;

        /* first[p] .. first[p + 1] now bounds the children of p */
        const order = new Int32Array(n);
        const stack = new Int32Array(n);
        let height = 1;
        for (let at = 0; height > 0; at++) {
            const node = stack[--height];
            order[at] = node;
            sortByWeight(children, first[node], first[node + 1], weight);
            for (let k = first[node]; k < first[node + 1]; k++)
                stack[height++] = children[k];
        }
        return order;
    }

    /* By old index; both sides count, so that the order is the same in every mode. */
    inclusiveWeights(data) {
        const {parent, self} = data, other = this.differential ? data.self_b : null;
        const [windowA, windowB] = this.windows;
        const weight = new Float64Array(this.count);
        for (let i = this.count - 1; i >= 0; i--) {
            weight[i] += Math.max(self[i] / windowA, other ? other[i] / windowB : 0);
            if (i > 0)
                weight[parent[i]] += weight[i];
        }
        return weight;
    }

    /* The loops of this class run once, before the engine has compiled them: they keep to locals. */
    fillColumns(data, order) {
        const n = this.count, oldParent = data.parent, oldFunction = data.function;
        const place = new Int32Array(n);
        const parent = new Int32Array(n), func = new Int32Array(n), depth = new Uint16Array(n);
        func[0] = ROOT_FUNCTION;
        for (let i = 1; i < n; i++) {
            const old = order[i];
            const p = place[oldParent[old]];
            place[old] = i;
            parent[i] = p;
            func[i] = oldFunction[old];
            depth[i] = depth[p] + 1;
        }
        Object.assign(this, {parent, func, depth});
        this.self = this.sides().map((side) => reordered(side === 0 ? data.self : data.self_b, order));
        this.total = this.self.map((self) => summedUp(self, parent));
    }

    /* end[i]: one past the subtree of i; rows[d]: the nodes of depth d from left to right. */
    findExtents() {
        const n = this.count, {parent, depth} = this;
        const end = new Int32Array(n);
        let deepest = 0;
        for (let i = 0; i < n; i++)
            deepest = Math.max(deepest, depth[i]);
        const counts = new Int32Array(deepest + 1), filled = new Int32Array(deepest + 1);
        for (let i = n - 1; i >= 0; i--) {
            const p = parent[i];
            if (end[i] === 0)
                end[i] = i + 1;
            if (end[p] === 0) /* the last child comes first here, and ends where its parent does */
                end[p] = end[i];
            counts[depth[i]]++;
        }
        this.end = end;
        this.rows = Array.from(counts, (count) => new Int32Array(count));
        for (let i = 0; i < n; i++)
            this.rows[depth[i]][filled[depth[i]]++] = i;
    }

    sides() {
        return this.differential ? [0, 1] : [0];
    }

    /* Sets x and width. 'a' and 'b' show one side; 'both' gives each node the larger self of the two
     * sides and sums upwards, so that a path that vanished is as wide as it was. */
    layOut(mode) {
        const n = this.count, parent = this.parent;
        const own = this.sides().map((side) => this.self[side].map((ns) => ns / this.windows[side]));
        const shown = mode === 'both' ? own[0].map((cores, i) => Math.max(cores, own[1][i]))
            : own[mode === 'b' ? 1 : 0];
        const width = summedUp(shown, parent);
        const x = new Float64Array(n), cursor = new Float64Array(n);
        for (let i = 1; i < n; i++) {
            const p = parent[i];
            x[i] = cursor[i] = cursor[p];
            cursor[p] += width[i];
        }
        Object.assign(this, {mode, width, x});
    }

    name(node) {
        return node === 0 ? 'all' : this.names[this.func[node]];
    }

    binary(node) {
        return (node > 0 && this.binaries[this.func[node]]) || '';
    }

    file(node) {
        return (node > 0 && this.files[this.func[node]]) || '';
    }

    kind(node) {
        return node === 0 ? 'mark' : this.kinds[this.func[node]] || 'native';
    }

    cores(ns, side) {
        return ns / this.windows[side];
    }

    /* Totals of a node on both sides, in cores. */
    rates(node) {
        return [this.cores(this.total[0][node], 0),
            this.differential ? this.cores(this.total[1][node], 1) : 0];
    }

    /* -1 (gone) .. 0 .. 1 (new), or null when the change is within the noise of sampling. */
    change(node) {
        return this.changeOf(this.total[0][node], this.total[1][node]);
    }

    changeOf(weightA, weightB) {
        const a = this.cores(weightA, 0), b = this.cores(weightB, 1);
        if (a === b)
            return null;
        const variance = this.variance(weightA, 0) + this.variance(weightB, 1);
        if (Math.abs(b - a) <= NOISE_SIGMAS * Math.sqrt(variance))
            return null;
        return (b - a) / Math.max(a, b);
    }

    /* Of a rate in cores: one sample stands for `step` cores, and the count's variance is itself;
     * no sample at all is as uncertain as one. */
    variance(weight, side) {
        if (this.samples[side] === 0)
            return 0;
        const step = this.cores(this.total[side][0] / this.samples[side], side);
        return Math.max(this.cores(weight, side) * step, step * step);
    }

    /* First place of `row` at or after `from` whose node ends right of `x`. */
    firstEndingAfter(row, x, from = 0) {
        let low = from, high = row.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (this.x[row[middle]] + this.width[row[middle]] > x)
                high = middle;
            else
                low = middle + 1;
        }
        return low;
    }

    nodeAt(depth, x) {
        const row = this.rows[depth];
        if (!row)
            return -1;
        const k = this.firstEndingAfter(row, x);
        return k < row.length && this.x[row[k]] <= x ? row[k] : -1;
    }

    /* From the root to `node`. */
    path(node) {
        const path = [node];
        while (node > 0) {
            node = this.parent[node];
            path.unshift(node);
        }
        return path;
    }

    children(node) {
        const found = [];
        for (let i = node + 1; i < this.end[node]; i = this.end[i])
            if (this.width[i] > 0)
                found.push(i);
        return found;
    }

    /* By function within the subtree of `zoom`: self and total weight a side. A function counts once
     * a stack, however deep it recurses. */
    functions(zoom) {
        const size = this.names.length;
        const sums = this.sides().map(() =>
            ({self: new Float64Array(size), total: new Float64Array(size)}));
        const openUntil = new Int32Array(size); /* the outermost live frame of f ends there */
        for (let i = Math.max(zoom, 1); i < this.end[zoom]; i++) {
            const f = this.func[i];
            const outermost = i >= openUntil[f];
            if (outermost)
                openUntil[f] = this.end[i];
            for (const side of this.sides()) {
                sums[side].self[f] += this.self[side][i];
                if (outermost)
                    sums[side].total[f] += this.total[side][i];
            }
        }
        return sums;
    }

    /* Weight of the stacks within `zoom` that hold a matched function, a side; `matches` is by
     * function. */
    matchedWeight(zoom, matches) {
        const weight = [0, 0];
        for (let i = zoom; i < this.end[zoom];) {
            if (i > 0 && matches[this.func[i]]) {
                for (const side of this.sides())
                    weight[side] += this.total[side][i];
                i = this.end[i];
            } else {
                i++;
            }
        }
        return weight;
    }
}
